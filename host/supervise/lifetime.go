package supervise

import (
	"context"
	"errors"
	"time"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// enter counts a call in, unless the instance takes none any more.
func (s *Supervisor) enter(in *instance) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.retired {
		return false
	}
	in.active++
	return true
}

// leave counts a call out.
func (s *Supervisor) leave(in *instance) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.active--
	in.lastUsed = time.Now()
	if in.retired && in.active == 0 {
		close(in.idle)
	}
	s.stir()
}

// watch waits for the end of an instance, and stops one that nobody has called for long.
func (s *Supervisor) watch(key string, sl *slot) {
	in := sl.instance
	idle := time.NewTimer(s.options.IdleTimeout)
	defer idle.Stop()
	for {
		select {
		case <-in.done():
			return
		case <-idle.C:
		}
		rest := s.options.IdleTimeout
		if !in.busy() {
			rest = s.retireIdle(key, sl)
		}
		if rest <= 0 {
			in.logger.Debug("stopped, since nobody has called it for long")
			ctx, cancel := context.WithTimeout(context.Background(), s.options.StopTimeout)
			in.stop(ctx)
			cancel()
			return
		}
		idle.Reset(rest)
	}
}

// busy reports whether something would be lost with an idle instance: one that may run commands may have some in the
// background. It is taken to have if it does not say.
func (in *instance) busy() bool {
	if !in.spec.Policy.Grants.Exec {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), stopGrace)
	defer cancel()
	said, err := in.rpc.Busy(ctx, &pluginpb.BusyRequest{})
	return err != nil || said.GetBusy()
}

// retireIdle takes an instance that is idle for long enough out of use, or says how long to wait.
func (s *Supervisor) retireIdle(key string, sl *slot) (rest time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	in := sl.instance
	if in.active > 0 {
		return s.options.IdleTimeout
	}
	if rest = s.options.IdleTimeout - time.Since(in.lastUsed); rest <= 0 {
		s.retire(key, sl)
	}
	return rest
}

// retire takes an instance out of use; mu is held. Calls under way go on.
func (s *Supervisor) retire(key string, sl *slot) {
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

// Retire takes the instances out of use that are no longer wanted, and stops each when its calls have finished. Calls
// that come from now on start others.
func (s *Supervisor) Retire(wanted func(*Spec) bool) {
	s.retireEach(wanted, func(in *instance) {
		ctx, cancel := context.WithTimeout(context.Background(), s.options.StopTimeout)
		defer cancel()
		in.stop(ctx)
	})
}

// killAfter is how long calls that were cancelled have to end by themselves.
const killAfter = 400 * time.Millisecond

// Kill is like Retire, and ends what has not ended soon, with all that it has started. The calls are cancelled already.
func (s *Supervisor) Kill(wanted func(*Spec) bool) {
	s.retireEach(wanted, func(in *instance) {
		select {
		case <-in.idle:
		case <-in.done():
		case <-time.After(killAfter):
		}
		in.runner.expectEnd()
		in.runner.process.Load().Kill()
		in.cleanUp()
	})
}

func (s *Supervisor) retireEach(wanted func(*Spec) bool, end func(*instance)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, sl := range s.instances {
		select {
		case <-sl.ready:
		default:
			continue // it is starting for somebody who wants it
		}
		in := sl.instance
		if in == nil || wanted(in.spec) {
			continue
		}
		s.retire(key, sl)
		s.retired.Go(func() { end(in) })
	}
}

// crash says how an instance has ended that nobody had asked to end; nil for one that was.
func (in *instance) crash() error {
	select {
	case <-in.runner.stopped:
		return nil
	default:
	}
	exit, err := in.runner.process.Load().Wait(context.Background())
	if err != nil {
		return err
	}
	text := exit.String()
	if words := in.runner.lastWords(); words != "" {
		text += "\nits last words were:\n" + words
	}
	return errors.New(text)
}
