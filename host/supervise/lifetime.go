package supervise

import (
	"context"
	"errors"
	"time"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// beginCall counts a call on an instance, unless the instance is retired.
func (s *Supervisor) beginCall(in *instance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.retired {
		return false
	}
	in.active++
	return true
}

// releaseInstance ends the count of a call.
func (s *Supervisor) releaseInstance(in *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.active--
	in.lastUsed = time.Now()
	if in.retired && in.active == 0 {
		close(in.idle)
	}
	s.signalRoom()
}

// awaitEnd waits for the end of an instance, and stops the instance after a long time without calls.
func (s *Supervisor) awaitEnd(key string, sl *slot) {
	in := sl.instance
	idle := time.NewTimer(s.options.IdleTimeout)
	defer idle.Stop()
	for {
		select {
		case <-in.exitSignal():
			return
		case <-idle.C:
		}
		remaining := s.options.IdleTimeout
		if !in.hasBackgroundWork() {
			remaining = s.retireIfIdle(key, sl)
		}
		if remaining <= 0 {
			in.logger.Debug("stopped after the idle timeout")
			ctx, cancel := context.WithTimeout(context.Background(), s.options.StopTimeout)
			in.stopGracefully(ctx)
			cancel()
			return
		}
		idle.Reset(remaining)
	}
}

// hasBackgroundWork reports whether stopping an idle instance would lose commands in the background. An error counts
// as yes.
func (in *instance) hasBackgroundWork() bool {
	if !in.spec.Policy.Grants.Exec {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	response, err := in.rpc.Busy(ctx, &pluginpb.BusyRequest{})
	return err != nil || response.GetBusy()
}

// retireIfIdle retires an instance that has been idle for long enough, or returns the remaining time.
func (s *Supervisor) retireIfIdle(key string, sl *slot) (remaining time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := sl.instance
	if in.active > 0 {
		return s.options.IdleTimeout
	}
	if remaining = s.options.IdleTimeout - time.Since(in.lastUsed); remaining <= 0 {
		s.retireLocked(key, sl)
	}
	return remaining
}

// retireLocked has an instance accept no more calls. Calls in progress continue. The caller holds mu.
func (s *Supervisor) retireLocked(key string, sl *slot) {
	if in := sl.instance; !in.retired {
		in.retired, in.idle = true, make(chan struct{})
		if in.active == 0 {
			close(in.idle)
		}
	}
	if s.instances[key] == sl {
		delete(s.instances, key)
	}
}

// StopUnwanted retires the instances that are no longer wanted, and stops each when its calls have finished. Later
// calls start new instances.
func (s *Supervisor) StopUnwanted(wanted func(*Spec) bool) {
	s.retireUnwanted(wanted, func(in *instance) {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.StopTimeout)
		defer cancel()
		in.stopGracefully(ctx)
	})
}

// cancelGrace is the time for cancelled calls to end by themselves.
const cancelGrace = 400 * time.Millisecond

// KillUnwanted is like StopUnwanted, but kills instances that do not end soon, with their descendants. The caller has
// cancelled their calls.
func (s *Supervisor) KillUnwanted(wanted func(*Spec) bool) {
	s.retireUnwanted(wanted, func(in *instance) {
		select {
		case <-in.idle:
		case <-in.exitSignal():
		case <-time.After(cancelGrace):
		}
		in.runner.markStopRequested()
		in.runner.process.Load().Kill()
		in.cleanUp()
	})
}

// retireUnwanted retires the instances that are not wanted, and runs end for each.
func (s *Supervisor) retireUnwanted(wanted func(*Spec) bool, end func(*instance)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, sl := range s.instances {
		select {
		case <-sl.started:
		default:
			continue // a caller waits for this start
		}
		in := sl.instance
		if in == nil || wanted(in.spec) {
			continue
		}
		s.retireLocked(key, sl)
		s.stops.Go(func() { end(in) })
	}
}

// crashCause returns how an instance ended that was not asked to; nil for a requested end.
func (in *instance) crashCause() error {
	select {
	case <-in.runner.stopRequested:
		return nil
	default:
	}
	exit, err := in.runner.process.Load().Wait(context.Background())
	if err != nil {
		return err
	}
	text := exit.String()
	if words := in.runner.stderrEnd(); words != "" {
		text += "\nthe end of its standard error:\n" + words
	}
	return errors.New(text)
}
