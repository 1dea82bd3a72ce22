package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picoclaw/picoclaw/host/halt"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// stopInterval is how often a host that can run something looks whether an operator has stopped it.
const stopInterval = 200 * time.Millisecond

// StopError is the cause of a context's end when an operator has stopped its agent.
type StopError struct{ Stop *halt.Stop }

func (e *StopError) Error() string {
	return fmt.Sprintf("%s; `%s` lets it go on", e.what(), e.Stop.Cure())
}

func (e *StopError) what() string { return "the operator has stopped this: " + e.Stop.String() }

// stops ends what runs for agents that an operator stops.
type stops struct {
	home string

	mu      sync.Mutex
	running map[*stoppable]bool
	quit    chan struct{} // closed at the host's end; nil while nobody looks
	over    bool
	looking sync.WaitGroup
}

// stoppable is what runs for an agent.
type stoppable struct {
	agent    string
	end      context.CancelCauseFunc
	commands atomic.Bool // it runs commands, which need space on disk
}

// WithStop returns a context that ends when the operator stops the agent, with a *StopError as its cause; at once if that
// has happened already. Everything that runs for an agent runs with one: calls do by themselves.
func (h *Host) WithStop(ctx context.Context, agent string) (context.Context, context.CancelFunc) {
	ctx, _, release := h.stoppable(ctx, agent)
	return ctx, release
}

func (h *Host) stoppable(ctx context.Context, agent string) (context.Context, *stoppable, context.CancelFunc) {
	ctx, end := context.WithCancelCause(ctx)
	s := &stoppable{agent: agent, end: end}
	h.stops.mu.Lock()
	if h.stops.running == nil {
		h.stops.running = map[*stoppable]bool{}
	}
	h.stops.running[s] = true
	h.stops.mu.Unlock()
	// It is looked at after it is known to whoever looks for all, so that no stop is missed between.
	if stop := halt.Of(h.stops.home, agent); stop != nil {
		end(&StopError{stop})
	}
	return ctx, s, func() {
		h.stops.mu.Lock()
		delete(h.stops.running, s)
		h.stops.mu.Unlock()
		end(nil)
	}
}

// Stopped returns what an operator has stopped an agent by; nil if nothing.
func (h *Host) Stopped(agent string) *halt.Stop { return halt.Of(h.stops.home, agent) }

// watch looks for stops until the host is closed. retire ends what goes on without anybody who waits for it.
func (s *stops) watch(retire func(stopped halt.Stopped, lowSpace bool)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.quit != nil {
		return
	}
	s.quit = make(chan struct{})
	s.looking.Go(func() {
		tick := time.NewTicker(stopInterval)
		defer tick.Stop()
		for {
			select {
			case <-s.quit:
				return
			case <-tick.C:
			}
			stopped, lowSpace := halt.Read(s.home), halt.LowSpace(s.home)
			if len(stopped) > 0 || lowSpace != nil {
				s.end(stopped, lowSpace)
				retire(stopped, lowSpace != nil)
			}
		}
	})
}

// end ends what runs for the agents that are stopped, and commands if the disk is nearly full.
func (s *stops) end(stopped halt.Stopped, lowSpace error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for one := range s.running {
		if stop := stopped.For(one.agent); stop != nil {
			one.end(&StopError{stop})
		} else if lowSpace != nil && one.commands.Load() {
			one.end(lowSpace)
		}
	}
}

func (s *stops) close() {
	s.mu.Lock()
	if s.quit != nil && !s.over {
		close(s.quit)
	}
	s.over = true
	s.mu.Unlock()
	s.looking.Wait()
}

// stoppedError is the error of a call that was ended by a stop, or kept from beginning; nil for any other.
func stoppedError(ctx context.Context) *Error {
	if low, ok := errors.AsType[*halt.SpaceError](context.Cause(ctx)); ok {
		return spaceError(low)
	}
	stop, ok := errors.AsType[*StopError](context.Cause(ctx))
	if !ok {
		return nil
	}
	return &Error{Code: pluginpb.CodeStopped, Message: stop.what(), Rule: "stop",
		Hint: "`" + stop.Stop.Cure() + "` lets it go on"}
}

func spaceError(err error) *Error {
	return &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Rule: "stop",
		Hint: "free space on the disk of the home; file tools still work"}
}

// Running is how much runs for agents: calls, and what else has been begun with WithStop.
func (h *Host) Running() int {
	h.stops.mu.Lock()
	defer h.stops.mu.Unlock()
	return len(h.stops.running)
}
