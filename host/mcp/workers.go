package mcp

import "context"

// callWorkers is how many goroutines wait for a client's calls. Few clients make more at a time.
const callWorkers = 2

// workers wait for calls. Their stacks have grown to what a call takes: a new goroutine, which the library makes for each
// request, has to do that first, and that takes a tenth of a short call.
type workers chan func()

// newWorkers returns workers that end when ctx is done.
func newWorkers(ctx context.Context) workers {
	w := make(workers)
	for range callWorkers {
		go func() {
			for {
				select {
				case call := <-w:
					call()
				case <-ctx.Done():
					return
				}
			}
		}()
	}
	return w
}

// do makes a call and returns when it has ended. When all workers are busy the call is made by the caller.
func (w workers) do(call func()) {
	ended := make(chan struct{})
	select {
	case w <- func() { defer close(ended); call() }:
		<-ended
	default:
		call()
	}
}
