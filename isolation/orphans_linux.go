package isolation

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// markVariable marks the processes of one command, for as long as they do not
// take it off.
const markVariable = "ISOLATION_MARK"

// orphans ends what children without a pid namespace leave behind when they
// detach it: a process with a session of its own whose parent has ended. If
// this process is a child subreaper it becomes the parent of such processes.
// Which child one came from is told by the mark in its environment, or by
// there being only one that it can have come from; what may belong to several
// is ended with the last of them.
type orphans struct {
	mu      sync.Mutex
	running map[string]*runningChild // by mark
}

// runningChild is a child that may still leave something behind.
type runningChild struct {
	pid     int    // 0 while it is being started
	started uint64 // ticks since boot
}

// adopting reports whether orphans come to this process.
func adopting() bool {
	var yes int32
	err := unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&yes)), 0, 0, 0)
	return err == nil && yes != 0
}

// expect says that a child with a mark is about to be started.
func (o *orphans) expect(mark string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.running == nil {
		o.running = map[string]*runningChild{}
	}
	o.running[mark] = &runningChild{}
}

// started says which process the child is.
func (o *orphans) started(mark string, pid int) {
	e, _ := readProc(pid)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.running[mark].pid, o.running[mark].started = pid, ticks(e)
}

// forget says that the child was not started, or that all that it left is
// gone.
func (o *orphans) forget(mark string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.running, mark)
}

// of returns the orphans that a child has left, with all their descendants.
func (o *orphans) of(mark string, table []procEntry) []procEntry {
	self := os.Getpid()
	var found []procEntry
	for _, e := range table {
		if e.parent == self && o.owns(mark, e) {
			found = append(append(found, e), descendants(table, e.pid)...)
		}
	}
	return found
}

// owns reports whether an orphan is one of a child's.
func (o *orphans) owns(mark string, e procEntry) bool {
	carried := readMark(e.pid)
	o.mu.Lock()
	defer o.mu.Unlock()
	owner := o.running[mark]
	for other, child := range o.running {
		switch {
		case child.pid == e.pid:
			return false // a child itself, and no orphan
		case other != mark && other == carried:
			return false
		case other != mark && carried != mark && child.started <= ticks(e):
			return false // it may be that one's
		}
	}
	return owner != nil && owner.started <= ticks(e)
}

// chase bounds how long orphans are hunted.
const chase = 5 * time.Second

// end kills what a child has left behind, and reaps it.
func (o *orphans) end(mark string) {
	for deadline := time.Now().Add(chase); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		if o.onlyChildren() {
			return // which is nearly always so, and known at once
		}
		alive := 0
		for _, e := range o.of(mark, processTable()) {
			if e.alive() {
				alive++
				_ = e.signal(unix.SIGKILL)
			}
			if e.parent == os.Getpid() {
				_, _ = unix.Wait4(e.pid, nil, unix.WNOHANG, nil)
			}
		}
		if alive == 0 {
			return
		}
	}
}

// onlyChildren reports whether this process has no children but those that it
// has started itself, as far as the kernel says.
func (o *orphans) onlyChildren() bool {
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil || len(lists) == 0 {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	known := make(map[string]bool, len(o.running))
	for _, child := range o.running {
		known[strconv.Itoa(child.pid)] = true
	}
	for _, list := range lists {
		pids, err := os.ReadFile(list)
		if err != nil {
			continue // the thread has ended
		}
		for pid := range strings.FieldsSeq(string(pids)) {
			if !known[pid] {
				return false
			}
		}
	}
	return true
}

// readMark returns the mark in a process's environment, as far as it can be
// read.
func readMark(pid int) string {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return ""
	}
	for variable := range bytes.SplitSeq(env, []byte{0}) {
		if mark, ok := bytes.CutPrefix(variable, []byte(markVariable+"=")); ok {
			return string(mark)
		}
	}
	return ""
}

// ticks is when a process was started.
func ticks(e procEntry) uint64 {
	n, err := strconv.ParseUint(e.started, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
