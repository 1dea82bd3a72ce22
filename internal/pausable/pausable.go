// Package pausable provides context timeouts that can be paused, for example while a person answers a question.
package pausable

import (
	"context"
	"errors"
	"sync"
	"time"
)

// pausableTimer is the timer of a context, which can be paused.
type pausableTimer struct {
	mu     sync.Mutex
	timer  *time.Timer
	end    time.Time     // deadline while it runs
	left   time.Duration // remaining time while it is paused
	paused int
}

type timerContextKey struct{}

// pausableContext is a context that a pausableTimer cancels.
type pausableContext struct {
	context.Context // derived from parent; the timer also cancels it
	parent          context.Context
	clock           *pausableTimer
}

// WithTimeout is [context.WithTimeout] with a timeout that [Pause] can pause.
func WithTimeout(parent context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	c := &pausableTimer{end: time.Now().Add(timeout)}
	c.timer = time.AfterFunc(timeout, func() { cancel(context.DeadlineExceeded) })
	return &pausableContext{ctx, parent, c}, func() {
		c.timer.Stop()
		cancel(nil)
	}
}

// Pause pauses a context's timeout until resume is called. It does nothing if the context has no pausable timeout.
func Pause(ctx context.Context) (resume func()) {
	c, ok := ctx.Value(timerContextKey{}).(*pausableTimer)
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

func (c *pausableTimer) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paused--; c.paused == 0 {
		c.end = time.Now().Add(c.left)
		c.timer.Reset(c.left)
	}
}

// Deadline returns the time at which the context ends unless it is paused again.
func (c *pausableContext) Deadline() (time.Time, bool) {
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

func (c *pausableContext) Err() error {
	if err := c.Context.Err(); err != nil && errors.Is(context.Cause(c.Context), context.DeadlineExceeded) {
		return context.DeadlineExceeded
	}
	return c.Context.Err()
}

// Value returns the timer for timerContextKey, and the parent's value for other keys. It hides the embedded context
// from package context. Derived contexts therefore end with this context's error.
func (c *pausableContext) Value(key any) any {
	if key == (timerContextKey{}) {
		return c.clock
	}
	return c.parent.Value(key)
}

// AfterFunc calls f after the context is done. With it, package context needs no goroutine for derived contexts.
func (c *pausableContext) AfterFunc(f func()) (stop func() bool) {
	return context.AfterFunc(c.Context, f)
}
