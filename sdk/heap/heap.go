// Package heap gives memory back to the system when something large has gone through a process. What goes through one once in a
// while is larger than all that it needs otherwise, and the runtime keeps that memory for minutes: until as much again has been
// allocated. It must not know what it was that went through.
package heap

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

const (
	large = 1 << 20         // bytes that are worth the effort
	after = 2 * time.Second // without anything large
)

// Tidy gives memory back two seconds after the last large thing has passed, which is one of more than 1 MiB. The zero value is
// ready for use, concurrently.
type Tidy struct {
	mu    sync.Mutex
	timer *time.Timer // nil until the first one
}

// Passed is told of the size of something, in bytes, when nothing needs it any more.
func (t *Tidy) Passed(size int) {
	if size < large {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.timer = time.AfterFunc(after, giveBack)
		return
	}
	t.timer.Reset(after)
}

// giveBack collects twice: what pools hold survives the first time.
func giveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}
