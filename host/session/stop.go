package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// stopPollInterval is how often a host checks whether an operator stopped an agent.
const stopPollInterval = 200 * time.Millisecond

// StopError is the cause of a context that was cancelled because an operator stopped the agent.
type StopError struct{ Stop *killswitch.Stop }

func (e *StopError) Error() string {
	return fmt.Sprintf("%s; `%s` resumes it", e.describe(), e.Stop.StartCommand())
}

func (e *StopError) describe() string { return "the operator has stopped this: " + e.Stop.String() }

// stopWatcher cancels the work of agents an operator stops.
type stopWatcher struct {
	home string

	mu       sync.Mutex
	work     map[*stoppableWork]bool
	quit     chan struct{} // closed by the host's Close; nil while nothing watches
	closed   bool
	watchers sync.WaitGroup
}

// stoppableWork is something that runs for an agent.
type stoppableWork struct {
	agent    string
	cancel   context.CancelCauseFunc
	commands atomic.Bool // it runs commands, which need disk space
}

// WithStop returns a context that is cancelled when the operator stops the agent, with a *StopError as its cause; at
// once if the agent is stopped already. Calls do this themselves; other work for an agent must use it.
func (h *Host) WithStop(ctx context.Context, agent string) (context.Context, context.CancelFunc) {
	ctx, _, release := h.registerWork(ctx, agent)
	return ctx, release
}

func (h *Host) registerWork(ctx context.Context, agent string) (context.Context, *stoppableWork, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	s := &stoppableWork{agent: agent, cancel: end}
	h.stops.mu.Lock()
	if h.stops.work == nil {
		h.stops.work = map[*stoppableWork]bool{}
	}
	h.stops.work[s] = true
	h.stops.mu.Unlock()
	// The check comes after the registration, so that no stop is missed in between.
	if stop := killswitch.StopOf(h.stops.home, agent); stop != nil {
		end(&StopError{stop})
	}
	return ctx, s, func() {
		h.stops.mu.Lock()
		delete(h.stops.work, s)
		h.stops.mu.Unlock()
		end(nil)
	}
}

// StopOf returns the stop of an agent; nil if it is not stopped.
func (h *Host) StopOf(agent string) *killswitch.Stop { return killswitch.StopOf(h.stops.home, agent) }

// watchStops polls for stops until the host is closed. retire stops idle instances.
func (s *stopWatcher) watchStops(retire func(stopped killswitch.StopsByAgent, lowSpace bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.quit != nil {
		return
	}
	s.quit = make(chan struct{})
	s.watchers.Go(func() {
		tick := time.NewTicker(stopPollInterval)
		defer tick.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-tick.C:
			}
			stopped, lowSpace := killswitch.ReadStops(s.home), killswitch.CheckSpace(s.home)
			if len(stopped) > 0 || lowSpace != nil {
				s.cancelStopped(stopped, lowSpace)
				retire(stopped, lowSpace != nil)
			}
		}
	})
}

// cancelStopped cancels the work of stopped agents, and commands if the disk is nearly full.
func (s *stopWatcher) cancelStopped(stopped killswitch.StopsByAgent, lowSpace error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.work {
		if stop := stopped.StopFor(one.agent); stop != nil {
			one.cancel(&StopError{stop})
		} else if lowSpace != nil && one.commands.Load() {
			one.cancel(lowSpace)
		}
	}
}

func (s *stopWatcher) stopWatching() {
	s.mu.Lock()
	if s.quit != nil && !s.closed {
		close(s.quit)
	}
	s.closed = true
	s.mu.Unlock()
	s.watchers.Wait()
}

// stoppedError returns the error of a call that a stop ended or prevented; nil for other calls.
func stoppedError(ctx context.Context) *Error {
	if low, ok := errors.AsType[*killswitch.SpaceError](context.Cause(ctx)); ok {
		return lowSpaceError(low)
	}
	stop, ok := errors.AsType[*StopError](context.Cause(ctx))
	if !ok {
		return nil
	}
	return &Error{Code: pluginpb.CodeStopped, Message: stop.describe(), Rule: "stop",
		Hint: "`" + stop.Stop.StartCommand() + "` resumes it"}
}

func lowSpaceError(err error) *Error {
	return &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Rule: "stop",
		Hint: "free space on the disk of the home; file tools still work"}
}

// RunningCount returns the number of running calls and other work registered with WithStop.
func (h *Host) RunningCount() int {
	h.stops.mu.Lock()
	defer h.stops.mu.Unlock()
	return len(h.stops.work)
}
