package undo

import "time"

// Tick does what happens beside the calls of an operation now and then.
func (r *Recorder) Tick() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.processEvents()
	r.expireCalls(time.Now())
}

// Kill leaves the recorder as a killed process does, and returns the id of its operation; empty for none.
func (r *Recorder) Kill() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.stopObserving()
	if r.out == nil {
		return ""
	}
	_ = r.out.file.Close()
	return r.record.ID
}
