package isolation

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// clearWithin bounds how long killed processes are waited for. Only those that the kernel can't end, because they wait
// for a device, take longer.
const clearWithin = time.Second

// leftNothing says that a child which has ended has certainly left no process behind: this process would have adopted
// it.
func leftNothing(leader int) bool {
	if !adoptsOrphans() {
		return false
	}
	others := slices.DeleteFunc(adopted(), func(pid int) bool { return pid == leader })
	return len(others) == 0
}

// adoptsOrphans reports whether this process is given the orphans among its descendants.
func adoptsOrphans() bool {
	var adopts int32
	return unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&adopts)), 0, 0, 0) == nil && adopts != 0
}

// clear waits until nothing is left of a tree whose leader has ended and that was killed, and reaps what this process
// has inherited of it. Where this process does not adopt orphans there is nothing to reap, and nothing to wait for.
func clear(leader int, among func(pids []int) []int) {
	pause := 50 * time.Microsecond
	for deadline := time.Now().Add(clearWithin); time.Now().Before(deadline); pause = min(2*pause, 10*time.Millisecond) {
		left := slices.DeleteFunc(adopted(), func(pid int) bool { return pid == leader })
		if len(left) > 0 {
			left = slices.DeleteFunc(among(left), func(pid int) bool {
				reaped, err := unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, nil)
				return err != nil || reaped == pid
			})
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(pause)
	}
}

// adopted lists the children of this process's first thread: the kernel gives orphans to it. Children that this process
// has started are among them if that thread has.
func adopted() []int {
	list, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		return childrenByTable()
	}
	var pids []int
	for _, field := range strings.Fields(string(list)) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// childrenByTable finds this process's children where the kernel was built without lists of them.
func childrenByTable() []int {
	var pids []int
	for _, e := range proctable.All() {
		if e.Parent == os.Getpid() {
			pids = append(pids, e.PID)
		}
	}
	return pids
}
