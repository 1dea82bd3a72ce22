package undo

import "time"

// Tick does what happens beside the calls of an operation now and then.
func (r *Recorder) Tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.observe()
	r.expire(time.Now())
}
