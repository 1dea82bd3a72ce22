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

// MaxSessions limits the sessions. Ended ones are dropped for new ones, the oldest first.
const MaxSessions = 16

// Session is a background command.
type Session struct {
	ID      string
	Command string
	PTY     bool
	Running *command.RunningCommand
	Ring    *output.OutputRing
	Began   time.Time

	Outcome *Outcome

	Given guard.Command // the command as it was decided on
	Input string        // the end of what has been written to it; once it is registered, for Hear alone

	mu      sync.Mutex
	why     string
	hearing sync.Mutex
}

// Outcome is the effect of a finished command on the workspace.
type Outcome struct {
	Changes   undo.Ended
	Undone    *undo.Undone // of a command that was undone at once; nil for others
	Protected workspace.ProtectedChanges
}

// UpdateInput passes all earlier input to decide, serialised, and stores its result unless it fails.
func (s *Session) UpdateInput(decide func(told string) (string, error)) error {
	s.hearing.Lock()
	defer s.hearing.Unlock()
	told, err := decide(s.Input)
	if err == nil {
		s.Input = told
	}
	return err
}

// StopSession ends the command with a reason, and waits. Unread output that does not fit is dropped.
func (s *Session) StopSession(why string) {
	s.mu.Lock()
	if s.why == "" && !s.IsOver() {
		s.why = why
	}
	s.mu.Unlock()
	s.Running.StopCommand()
	s.Ring.StopWriters()
	<-s.Running.Done()
}

// StopReason returns why the command was ended; may be empty.
func (s *Session) StopReason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// IsOver reports whether the command has ended.
func (s *Session) IsOver() bool {
	select {
	case <-s.Running.Done():
		return true
	default:
		return false
	}
}

// ErrFull is returned when the maximum number of commands runs.
var ErrFull = fmt.Errorf("%d commands run in the background already", MaxSessions)

// Registry holds the sessions. It may be used concurrently.
type Registry struct {
	mu       sync.Mutex
	next     int
	starting int
	sessions []*Session // in the order in which they began
	closed   bool
}

// StartSession starts and registers a session, if there is room.
func (r *Registry) StartSession(start func() (*Session, error)) (*Session, error) {
	if err := r.reserveSlot(); err != nil {
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

// reserveSlot makes room for one more.
func (r *Registry) reserveSlot() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("the plugin is stopping")
	}
	if len(r.sessions)+r.starting >= MaxSessions {
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

// FindSession returns a session.
func (r *Registry) FindSession(id string) (*Session, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessions {
		if s.ID == id {
			return s, true
		}
	}
	return nil, false
}

// ListSessions returns the sessions, the oldest first.
func (r *Registry) ListSessions() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sessions)
}

// Close unblocks writers of full rings. The processes end with their launcher.
func (r *Registry) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, s := range r.sessions {
		s.Ring.StopWriters()
	}
}
