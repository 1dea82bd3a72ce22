package mcp

import (
	"runtime"
	"runtime/debug"
	"sync"
	"time"
)

// What goes through a server once in a while is larger than all that it needs otherwise, and the runtime keeps that memory
// for minutes: until as much again has been allocated.
const (
	large     = 1 << 20         // bytes of a message that are worth the effort
	tidyAfter = 2 * time.Second // without another large one
)

// tidy gives memory back to the system when large messages have gone through it and no more of them come.
type tidy struct {
	mu    sync.Mutex
	timer *time.Timer // nil until the first one
}

// passed is told of a message, in bytes, when nothing needs it any more.
func (t *tidy) passed(size int) {
	if size < large {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.timer == nil {
		t.timer = time.AfterFunc(tidyAfter, giveBack)
		return
	}
	t.timer.Reset(tidyAfter)
}

// giveBack collects twice: what pools hold survives the first time.
func giveBack() {
	runtime.GC()
	debug.FreeOSMemory()
}
