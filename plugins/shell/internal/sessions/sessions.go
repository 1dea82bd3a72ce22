// Package sessions keeps the commands that run in the background, each for the agent that started it. It must not know
// tools or calls.
package sessions

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/plugins/shell/internal/command"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/output"
)

// The bounds of one agent's sessions.
const (
	MaxRunning = 16
	maxOver    = 16 // that have ended and are kept for their output
)

// Session is one command in the background.
type Session struct {
	ID      string
	Command string
	PTY     bool
	Running *command.Running
	Ring    *output.Ring
	Began   time.Time

	agent string
}

// IsOver says whether the command has ended.
func (s *Session) IsOver() bool {
	select {
	case <-s.Running.Over():
		return true
	default:
		return false
	}
}

// Registry holds the sessions of all agents. It may be used concurrently.
type Registry struct {
	mu       sync.Mutex
	next     int
	sessions []*Session     // in the order in which they began
	starting map[string]int // by agent
	closed   bool
}

// Start counts one session in, starts it, and registers it.
func (r *Registry) Start(agent string, start func() (*Session, error)) (*Session, error) {
	r.mu.Lock()
	running := r.starting[agent]
	for _, s := range r.sessions {
		if s.agent == agent && !s.IsOver() {
			running++
		}
	}
	if r.closed || running >= MaxRunning {
		r.mu.Unlock()
		return nil, fmt.Errorf("%d commands run in the background already; end one with process (action kill)", running)
	}
	if r.starting == nil {
		r.starting = map[string]int{}
	}
	r.starting[agent]++
	r.mu.Unlock()

	s, err := start()

	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting[agent]--
	if err != nil {
		return nil, err
	}
	r.next++
	s.ID, s.agent = "p"+strconv.Itoa(r.next), agent
	r.sessions = append(r.sessions, s)
	r.forget(agent)
	return s, nil
}

// forget drops the oldest of an agent's sessions that are over, beyond those that are kept.
func (r *Registry) forget(agent string) {
	over := 0
	for _, s := range r.sessions {
		if s.agent == agent && s.IsOver() {
			over++
		}
	}
	r.sessions = slices.DeleteFunc(r.sessions, func(s *Session) bool {
		if over <= maxOver || s.agent != agent || !s.IsOver() {
			return false
		}
		over--
		_ = s.Ring.Close()
		return true
	})
}

// Find returns a session of an agent's.
func (r *Registry) Find(agent, id string) (*Session, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		if s.agent == agent && s.ID == id {
			return s, true
		}
	}
	return nil, false
}

// List returns an agent's sessions, the oldest first.
func (r *Registry) List(agent string) []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	var list []*Session
	for _, s := range r.sessions {
		if s.agent == agent {
			list = append(list, s)
		}
	}
	return list
}

// Close lets nobody wait for room in a ring any more. The processes end with their launcher.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, s := range r.sessions {
		s.Ring.Stop()
	}
}
