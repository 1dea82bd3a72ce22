package supervise

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

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

// The host checks a process regularly during calls, since it may hang while the call's deadline is far away.
const maxHealthFailures = 2 // the process is killed after this many failures in a row

// healthCheck checks regularly during a call whether an instance responds.
type healthCheck struct {
	in *pluginInstance

	mu       sync.Mutex
	timer    *time.Timer
	failures int
	stopped  bool
}

// startHealthCheck starts checking the instance until stopChecks.
func (in *pluginInstance) startHealthCheck() *healthCheck {
	h := &healthCheck{in: in}
	h.mu.Lock() // the timer may fire at once
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(in.healthInterval, h.checkOnce)
	return h
}

func (h *healthCheck) stopChecks() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.timer.Stop()
}

// checkOnce checks the instance once, and kills it after too many failures.
func (h *healthCheck) checkOnce() {
	alive := h.in.isResponsive()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	if alive {
		h.failures = 0
	} else if h.failures++; h.failures == maxHealthFailures {
		h.in.logger.Error("the plugin does not respond and is killed")
		go h.in.killUnresponsive()
		return
	}
	h.timer.Reset(h.in.healthInterval)
}

// isResponsive reports whether the process responds to any request.
func (in *pluginInstance) isResponsive() bool {
	client, err := in.client.Client()
	if err != nil {
		return false
	}
	conn, ok := client.(*plugin.GRPCClient)
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), in.healthInterval/2)
	defer cancel()
	_, err = grpc_health_v1.NewHealthClient(conn.Conn).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: plugin.GRPCServiceName})
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.Unavailable:
		return false
	}
	return true // any response will do
}

// killUnresponsive kills a process that does not respond. Later calls start another instance.
func (in *pluginInstance) killUnresponsive() {
	in.replace()
	if process := in.runner.process.Load(); process != nil {
		process.Kill()
	}
}
