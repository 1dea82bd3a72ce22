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

// AgentStoppedError is the cause of a context that was cancelled because an operator stopped the agent.
type AgentStoppedError struct{ Stop *killswitch.Stop }

func (e *AgentStoppedError) Error() string {
	return fmt.Sprintf("%s; `%s` resumes it", e.stopMessage(), e.Stop.CommandToResume())
}

func (e *AgentStoppedError) stopMessage() string {
	return "the operator has stopped this: " + e.Stop.String()
}

// stopWatcher polls the kill switch, and cancels the running work of stopped agents.
type stopWatcher struct {
	home string
	host *killswitch.HostConfirmationFile // set before watchStops

	mu       sync.Mutex
	work     map[*stoppableWork]bool
	quit     chan struct{} // closed by the host's Close; nil while nothing watches
	closed   bool
	watchers sync.WaitGroup
}

// stoppableWork is a call or other work of an agent that a stop cancels.
type stoppableWork struct {
	agent    string
	cancel   context.CancelCauseFunc
	commands atomic.Bool // it runs commands, which need disk space
}

// WithAgentStop returns a context that is cancelled when the operator stops the agent, with an [*AgentStoppedError] as
// cause. If the agent is stopped, the context is already cancelled. Calls use it; other work for an agent must use it
// too.
func (h *Host) WithAgentStop(ctx context.Context, agent string) (context.Context, context.CancelFunc) {
	ctx, _, release := h.registerWork(ctx, agent)
	return ctx, release
}

func (h *Host) registerWork(ctx context.Context, agent string) (context.Context, *stoppableWork, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	s := &stoppableWork{agent: agent, cancel: end}
	h.stops.mu.Lock()
	h.stops.work[s] = true
	h.stops.mu.Unlock()
	// The check comes after the registration, so that no stop is missed in between.
	if stop := killswitch.ReadStopOfAgent(h.stops.home, agent); stop != nil {
		end(&AgentStoppedError{stop})
	}
	return ctx, s, func() {
		h.stops.mu.Lock()
		delete(h.stops.work, s)
		h.stops.mu.Unlock()
		end(nil)
	}
}

// StopOfAgent returns the operator's stop of an agent; nil if the agent is not stopped.
func (h *Host) StopOfAgent(agent string) *killswitch.Stop {
	return killswitch.ReadStopOfAgent(h.stops.home, agent)
}

// watchStops polls for stops until the host is closed. retire stops idle plugin instances of stopped agents.
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
			stopped, lowSpace := killswitch.ReadStops(s.home), killswitch.CheckFreeSpace(s.home)
			if len(stopped) > 0 || lowSpace != nil {
				ended := s.cancelStoppedWork(stopped, lowSpace)
				retire(stopped, lowSpace != nil)
				if ended {
					s.host.ConfirmStops(stopped)
				}
			}
		}
	})
}

// cancelStoppedWork cancels the work of stopped agents, and reports whether there was none. It also cancels commands if
// the disk is nearly full.
func (s *stopWatcher) cancelStoppedWork(stopped killswitch.StopsByAgent, lowSpace error) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	ended = true
	for one := range s.work {
		if stop := stopped.StopOfAgent(one.agent); stop != nil {
			one.cancel(&AgentStoppedError{stop})
			ended = false
		} else if lowSpace != nil && one.commands.Load() {
			one.cancel(lowSpace)
		}
	}
	return ended
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

// callStoppedError returns the error of a call that a stop cancelled or prevented; nil if no stop did.
func callStoppedError(ctx context.Context) *Error {
	if low, ok := errors.AsType[*killswitch.LowSpaceError](context.Cause(ctx)); ok {
		return lowDiskSpaceError(low)
	}
	stop, ok := errors.AsType[*AgentStoppedError](context.Cause(ctx))
	if !ok {
		return nil
	}
	return &Error{Code: pluginpb.CodeStopped, Message: stop.stopMessage(), Rule: "stop",
		Hint: "`" + stop.Stop.CommandToResume() + "` resumes it"}
}

func lowDiskSpaceError(err error) *Error {
	return &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Rule: "stop",
		Hint: "free space on the disk of the home; file tools still work"}
}

// RunningWorkCount returns the number of running calls and of other work registered with WithAgentStop.
func (h *Host) RunningWorkCount() int {
	h.stops.mu.Lock()
	defer h.stops.mu.Unlock()
	return len(h.stops.work)
}
