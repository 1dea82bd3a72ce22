package supervise

import (
	"context"
	"sync"
	"time"

	"github.com/hashicorp/go-plugin"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"
)

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
