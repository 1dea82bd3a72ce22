// Package sessions keeps the commands that run in the background. It must not know tools or calls.
package sessions

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/plugins/shell/internal/command"
	"github.com/picoclaw/picoclaw/plugins/shell/internal/output"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Max is how many sessions are kept at most. What has ended makes room for what is new, the oldest first.
const Max = 16

// Session is one command in the background.
type Session struct {
	ID      string
	Command string
	PTY     bool
	Running *command.Running
	Ring    *output.Ring
	Began   time.Time

	Outcome *Outcome

	Given guard.Command // the command as it was decided on
	Told  string        // the end of what has been written to it; once it is registered, for Hear alone

	mu      sync.Mutex
	why     string
	hearing sync.Mutex
}

// Outcome is what a command has done to the workspace, once it is over.
type Outcome struct {
	Changes   undo.Ended
	Undone    *undo.Undone // of a command that was undone at once; nil for others
	Protected workspace.ProtectedChanges
}

// Hear calls decide with what the command has been told so far, one call at a time, and keeps what that returns
// instead, unless it fails.
func (s *Session) Hear(decide func(told string) (string, error)) error {
	s.hearing.Lock()
	defer s.hearing.Unlock()
	told, err := decide(s.Told)
	if err == nil {
		s.Told = told
	}
	return err
}

// End ends the command and says why. It returns when nothing is left of it; output that nobody has fetched and that
// there is no room for is given up.
func (s *Session) End(why string) {
	s.mu.Lock()
	if s.why == "" && !s.IsOver() {
		s.why = why
	}
	s.mu.Unlock()
	s.Running.End()
	s.Ring.Stop()
	<-s.Running.Over()
}

// Why is why the command was ended; empty if it was not.
func (s *Session) Why() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// IsOver reports whether the command has ended.
func (s *Session) IsOver() bool {
	select {
	case <-s.Running.Over():
		return true
	default:
		return false
	}
}

// ErrFull is returned when as many commands run as may.
var ErrFull = fmt.Errorf("%d commands run in the background already", Max)

// Registry holds the sessions. It may be used concurrently.
type Registry struct {
	mu       sync.Mutex
	next     int
	starting int
	sessions []*Session // in the order in which they began
	closed   bool
}

// Start starts a session and registers it, if there is room.
func (r *Registry) Start(start func() (*Session, error)) (*Session, error) {
	if err := r.reserve(); err != nil {
		return nil, err
	}
	s, err := start()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.starting--
	if err != nil {
		return nil, err
	}
	r.next++
	s.ID = "p" + strconv.Itoa(r.next)
	r.sessions = append(r.sessions, s)
	return s, nil
}

// reserve makes room for one more.
func (r *Registry) reserve() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("the plugin is stopping")
	}
	if len(r.sessions)+r.starting >= Max {
		oldest := slices.IndexFunc(r.sessions, (*Session).IsOver)
		if oldest < 0 {
			return ErrFull
		}
		_ = r.sessions[oldest].Ring.Close()
		r.sessions = slices.Delete(r.sessions, oldest, oldest+1)
	}
	r.starting++
	return nil
}

// Find returns a session.
func (r *Registry) Find(id string) (*Session, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		if s.ID == id {
			return s, true
		}
	}
	return nil, false
}

// List returns the sessions, the oldest first.
func (r *Registry) List() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sessions)
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
