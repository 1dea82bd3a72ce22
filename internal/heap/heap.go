// Package heap gives memory back to the system when much has gone through a process. What goes through one once in a
// while is larger than all that it needs otherwise, and the runtime keeps that memory for minutes: until as much again
// has been allocated. And garbage is collected between two calls, where nobody waits, rather than in the middle of one.
// It must not know what it was that went through.
package heap

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"sync/atomic"
	"time"
)

const (
	much  = 1 << 20         // bytes that are worth the effort
	after = 2 * time.Second // without anything more

	collectAt  = 24 << 20 // bytes allocated since the last time; a host has room for twice as many
	lookAtEach = 8        // calls, as to look takes a microsecond
)

// Tidy gives memory back when 1 MiB or more has passed, at once or little by little, and then nothing for two seconds. The
// zero value is ready for use, concurrently.
type Tidy struct {
	passed atomic.Int64 // bytes, since memory was given back

	calls     atomic.Uint64
	collected atomic.Uint64 // bytes that had been allocated when garbage was collected last

	mu    sync.Mutex
	timer *time.Timer // nil until the first time
}

// Passed is told of the size of something, in bytes, when nothing needs it any more: when a call has been answered. It does not wait for
// what it starts.
func (t *Tidy) Passed(size int) {
	if t.calls.Add(1)%lookAtEach == 0 && t.Due() {
		go runtime.GC()
	}
	if t.passed.Add(int64(size)) < much {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.timer = time.AfterFunc(after, t.giveBack)
		return
	}
	t.timer.Reset(after)
}

// Due says whether so much has been allocated since it last said so that it is to be collected before the next call.
func (t *Tidy) Due() bool {
	allocated := []metrics.Sample{{Name: "/gc/heap/allocs:bytes"}}
	metrics.Read(allocated)
	now, last := allocated[0].Value.Uint64(), t.collected.Load()
	return now-last >= collectAt && t.collected.CompareAndSwap(last, now)
}

// giveBack collects twice: what pools hold survives the first time.
func (t *Tidy) giveBack() {
	t.passed.Store(0)
	runtime.GC()
	debug.FreeOSMemory()
}
