// Package pausable provides context timeouts that pause, for example while a person answers a question. It must not know
// who waits for whom.
package pausable

import (
	"context"
	"errors"
	"sync"
	"time"
)

// clock is a timeout that can be paused.
type clock struct {
	mu     sync.Mutex
	timer  *time.Timer
	end    time.Time     // while it runs
	left   time.Duration // while it is paused
	paused int
}

type clockKey struct{}

// clockContext is a context that its clock cancels.
type clockContext struct {
	context.Context // of the parent, cancelled by the clock too
	parent          context.Context
	clock           *clock
}

// WithTimeout is like [context.WithTimeout], but does not count the time in which the context is paused; see [Pause].
func WithTimeout(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	c := &clock{end: time.Now().Add(timeout)}
	c.timer = time.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) })
	return &clockContext{ctx, parent, c}, func() {
		c.timer.Stop()
		cancel(nil)
	}
}

// Pause stops a context's timeout until resume is called. It does nothing if the context has no pausable timeout.
func Pause(ctx context.Context) (resume func()) {
	c, ok := ctx.Value(clockKey{}).(*clock)
	if !ok {
		return func() {}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused++; c.paused == 1 {
		c.timer.Stop()
		c.left = time.Until(c.end)
	}
	return sync.OnceFunc(c.resume)
}

func (c *clock) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused == 0 {
		c.end = time.Now().Add(c.left)
		c.timer.Reset(c.left)
	}
}

// Deadline returns the time at which the context ends unless it is paused again.
func (c *clockContext) Deadline() (time.Time, bool) {
	c.clock.mu.Lock()
	end := c.clock.end
	if c.clock.paused > 0 {
		end = time.Now().Add(c.clock.left)
	}
	c.clock.mu.Unlock()
	if outer, ok := c.parent.Deadline(); ok && outer.Before(end) {
		end = outer
	}
	return end, true
}

func (c *clockContext) Err() error {
	if err := c.Context.Err(); err != nil && errors.Is(context.Cause(c.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

// Value finds the clock. What package context looks for in its own contexts is the parent's, so that contexts made of
// this one end with the error that this one ends with.
func (c *clockContext) Value(key any) any {
	if key == (clockKey{}) {
		return c.clock
	}
	return c.parent.Value(key)
}

// AfterFunc has package context need no goroutine for a context that is made of this one.
func (c *clockContext) AfterFunc(f func()) (stop func() bool) { return context.AfterFunc(c.Context, f) }
