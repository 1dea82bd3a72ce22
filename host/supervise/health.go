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

// A process that is called is asked now and then whether it is still there: it may be stopped, or hang as a whole, and
// the call's own deadline may be far off.
const healthMisses = 2 // as many in a row, and it is ended

// health watches over an instance while a call is under way.
type health struct {
	in *instance

	mu      sync.Mutex
	timer   *time.Timer
	misses  int
	stopped bool
}

func (in *instance) watchHealth() *health {
	h := &health{in: in}
	h.mu.Lock() // the timer may go off at once
	defer h.mu.Unlock()
	h.timer = time.AfterFunc(in.health, h.check)
	return h
}

func (h *health) stop() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.timer.Stop()
}

func (h *health) check() {
	alive := h.in.answers()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.stopped {
		return
	}
	if alive {
		h.misses = 0
	} else if h.misses++; h.misses == healthMisses {
		h.in.logger.Error("the plugin does not answer any more and is ended")
		go h.in.abandon()
		return
	}
	h.timer.Reset(h.in.health)
}

// answers reports whether the process answers at all.
func (in *instance) answers() bool {
	client, err := in.client.Client()
	if err != nil {
		return false
	}
	conn, ok := client.(*plugin.GRPCClient)
	if !ok {
		return true
	}
	ctx, cancel := context.WithTimeout(context.Background(), in.health/2)
	defer cancel()
	_, err = grpc_health_v1.NewHealthClient(conn.Conn).Check(ctx,
		&grpc_health_v1.HealthCheckRequest{Service: plugin.GRPCServiceName})
	switch status.Code(err) {
	case codes.DeadlineExceeded, codes.Unavailable:
		return false
	}
	return true // an answer, whatever it says
}

// abandon ends a process that does not answer: there is nothing that it could be asked.
func (in *instance) abandon() {
	in.giveUp()
	if process := in.runner.process.Load(); process != nil {
		process.Kill()
	}
}
