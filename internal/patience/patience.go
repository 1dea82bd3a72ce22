// Package patience bounds what is done by a time that stands still while a person thinks. It must not know who waits
// for whom.
package patience

import (
	"context"
	"errors"
	"sync"
	"time"
)

// clock is what is left of a time.
type clock struct {
	mu     sync.Mutex
	timer  *time.Timer
	end    time.Time     // while it runs
	left   time.Duration // while it stands still
	paused int
}

type clockKey struct{}

// clockContext is a context that ends with its clock. Its parent's values are its own.
type clockContext struct {
	context.Context // of the parent, cancelled by the clock too
	parent          context.Context
	clock           *clock
}

// WithTimeout is like [context.WithTimeout], but for the time in which the context is paused; see [Pause].
func WithTimeout(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	c := &clock{end: time.Now().Add(timeout)}
	c.timer = time.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) })
	return &clockContext{ctx, parent, c}, func() {
		c.timer.Stop()
		cancel(nil)
	}
}

// Pause stops the time that is left of a context until resume is called, and does nothing to one without such a time.
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

// Deadline is when the context ends if it is not paused any more.
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
