package supervise

import (
	"context"
	"errors"
	"time"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// beginCall adds a running call to an instance. It returns false if the instance is retired.
func (s *Supervisor) beginCall(in *pluginInstance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.retired {
		return false
	}
	in.active++
	return true
}

// releaseInstance removes a running call from an instance.
func (s *Supervisor) releaseInstance(in *pluginInstance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.active--
	in.lastUsed = time.Now()
	if in.retired && in.active == 0 {
		close(in.idle)
	}
	s.wakeLimitWaiters()
}

// awaitEndOrStopIdle waits for the end of an instance, and stops it when it was idle for too long.
func (s *Supervisor) awaitEndOrStopIdle(key string, sl *sharedInstance) {
	in := sl.instance
	idle := time.NewTimer(s.options.IdleTimeout)
	defer idle.Stop()
	for {
		select {
		case <-in.exitChannel():
			return
		case <-idle.C:
		}
		remaining := s.options.IdleTimeout
		if !in.hasBackgroundWork() {
			remaining = s.retireIfIdle(key, sl)
		}
		if remaining <= 0 {
			in.logger.Debug("stopped after the idle timeout")
			s.stopWithinTimeout(in)
			return
		}
		idle.Reset(remaining)
	}
}

// hasBackgroundWork reports whether a stop of the idle instance would end background commands; true after an error.
func (in *pluginInstance) hasBackgroundWork() bool {
	if !in.spec.Policy.Grants.Exec {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	response, err := in.rpc.Busy(ctx, &pluginpb.BusyRequest{})
	return err != nil || response.GetBusy()
}

// retireIfIdle retires an instance that was idle for long enough; otherwise it returns the remaining time.
func (s *Supervisor) retireIfIdle(key string, sl *sharedInstance) (remaining time.Duration) {
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

// retireLocked makes an instance accept no more calls. Running calls continue. The caller holds mu.
func (s *Supervisor) retireLocked(key string, sl *sharedInstance) {
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

// StopUnwanted retires the instances whose specs are no longer wanted, and stops each when its calls have finished.
// Later calls start new instances.
func (s *Supervisor) StopUnwanted(wanted func(*InstanceSpec) bool) {
	s.retireUnwanted(wanted, s.stopWithinTimeout)
}

// stopWithinTimeout stops a retired instance. Its calls get the stop timeout to finish.
func (s *Supervisor) stopWithinTimeout(in *pluginInstance) {
	ctx, cancel := context.WithTimeout(context.Background(), s.options.StopTimeout)
	defer cancel()
	in.stopGracefully(ctx)
}

// cancelGrace is the time for cancelled calls to end by themselves.
const cancelGrace = 400 * time.Millisecond

// KillUnwanted is like StopUnwanted, but kills instances that do not end within cancelGrace, with their descendants.
// The caller must have cancelled their calls.
func (s *Supervisor) KillUnwanted(wanted func(*InstanceSpec) bool) {
	s.retireUnwanted(wanted, func(in *pluginInstance) {
		select {
		case <-in.idle:
		case <-in.exitChannel():
		case <-time.After(cancelGrace):
		}
		in.runner.markStopRequested()
		in.runner.process.Load().Kill()
		in.releaseResources()
	})
}

// retireUnwanted retires the instances whose specs are not wanted, and calls end for each.
func (s *Supervisor) retireUnwanted(wanted func(*InstanceSpec) bool, end func(*pluginInstance)) {
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

// crashCause returns the cause of an instance's exit; nil if the host ended it.
func (in *pluginInstance) crashCause() error {
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
