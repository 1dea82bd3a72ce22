// Package sessions holds the commands that run in the background. It must not know tools or calls.
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

// MaxSessions is the maximum number of sessions. When it is reached, the oldest ended session is dropped.
const MaxSessions = 16

// BackgroundCommand is a command that runs in the background, with its output and input.
type BackgroundCommand struct {
	ID      string
	Command string
	PTY     bool
	Running *command.RunningCommand
	Ring    *output.OutputRing
	Began   time.Time

	Outcome *WorkspaceEffects

	Given guard.Command // the command as the guard decided on it
	Input string        // last input so far; after the registration only UpdateInput uses it

	mu      sync.Mutex
	why     string
	hearing sync.Mutex
}

// WorkspaceEffects is the effect of a finished command on the workspace.
type WorkspaceEffects struct {
	Changes   undo.RecordingResult
	Undone    *undo.UndoResult // of a command that was undone at once; nil for others
	UndoError error            // of this undo
	Protected workspace.ProtectedChanges
}

// UpdateInput calls decide with all earlier input and stores its result as the new input, unless it returns an error.
// Concurrent calls run one after another.
func (s *BackgroundCommand) UpdateInput(decide func(input string) (string, error)) error {
	s.hearing.Lock()
	defer s.hearing.Unlock()
	input, err := decide(s.Input)
	if err == nil {
		s.Input = input
	}
	return err
}

// StopSession stops the command for a reason and waits for its end. Output that does not fit into the ring is dropped.
func (s *BackgroundCommand) StopSession(why string) {
	s.mu.Lock()
	if s.why == "" && !s.HasEnded() {
		s.why = why
	}
	s.mu.Unlock()
	s.Running.StopCommand()
	s.Ring.StopWriters()
	<-s.Running.Done()
}

// StopReason returns why the command was stopped; empty if it was not.
func (s *BackgroundCommand) StopReason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// HasEnded reports whether the command has ended.
func (s *BackgroundCommand) HasEnded() bool {
	select {
	case <-s.Running.Done():
		return true
	default:
		return false
	}
}

// ErrFull is the error for a new session while MaxSessions commands run.
var ErrFull = fmt.Errorf("%d commands run in the background already", MaxSessions)

// Registry holds the sessions of the plugin. It may be used concurrently.
type Registry struct {
	mu       sync.Mutex
	next     int
	starting int
	sessions []*BackgroundCommand // in the order in which they began
	closed   bool
}

// StartSession starts a session with start and registers it. It returns ErrFull without free slots.
func (r *Registry) StartSession(start func() (*BackgroundCommand, error)) (*BackgroundCommand, error) {
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

// reserveSlot reserves a slot for a new session, and drops an ended session if necessary.
func (r *Registry) reserveSlot() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return errors.New("the plugin is stopping")
	}
	if len(r.sessions)+r.starting >= MaxSessions {
		oldest := slices.IndexFunc(r.sessions, (*BackgroundCommand).HasEnded)
		if oldest < 0 {
			return ErrFull
		}
		_ = r.sessions[oldest].Ring.Close()
		r.sessions = slices.Delete(r.sessions, oldest, oldest+1)
	}
	r.starting++
	return nil
}

// FindSession returns the session with an id.
func (r *Registry) FindSession(id string) (*BackgroundCommand, bool) {
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
func (r *Registry) ListSessions() []*BackgroundCommand {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sessions)
}

// BeginShutdown refuses new sessions, and unblocks commands that wait for room in full rings. The launcher ends the
// processes of the commands.
func (r *Registry) BeginShutdown() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, s := range r.sessions {
		s.Ring.StopWriters()
	}
}
