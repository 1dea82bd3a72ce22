// Package heap gives memory back to the system when much has gone through a process. What goes through one once in a while is
// larger than all that it needs otherwise, and the runtime keeps that memory for minutes: until as much again has been
// allocated. It must not know what it was that went through.
package heap

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

const (
	much  = 1 << 20         // bytes that are worth the effort
	after = 2 * time.Second // without anything more
)

// Tidy gives memory back when 1 MiB or more has passed, at once or little by little, and then nothing for two seconds. The
// zero value is ready for use, concurrently.
type Tidy struct {
	passed atomic.Int64 // bytes, since memory was given back

	mu    sync.Mutex
	timer *time.Timer // nil until the first time
}

// Passed is told of the size of something, in bytes, when nothing needs it any more.
func (t *Tidy) Passed(size int) {
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

// giveBack collects twice: what pools hold survives the first time.
func (t *Tidy) giveBack() {
	t.passed.Store(0)
	runtime.GC()
	debug.FreeOSMemory()
}
