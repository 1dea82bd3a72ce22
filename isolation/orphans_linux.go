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

// orphanTimeout limits the wait for killed processes. Only processes blocked in a device driver take longer.
const orphanTimeout = time.Second

// hasNoOrphans reports whether an ended child certainly left no processes; false if this process adopts no orphans.
func hasNoOrphans(leader int) bool {
	if !adoptsOrphans() {
		return false
	}
	others := slices.DeleteFunc(listOwnChildren(), func(pid int) bool { return pid == leader })
	return len(others) == 0
}

// adoptsOrphans reports whether this process adopts its descendants' orphans.
func adoptsOrphans() bool {
	var adopts int32
	return unix.Prctl(unix.PR_GET_CHILD_SUBREAPER, uintptr(unsafe.Pointer(&adopts)), 0, 0, 0) == nil && adopts != 0
}

// reapTree reaps the processes of a killed tree until none is left, or the timeout. It does nothing if this process
// does not adopt orphans.
func reapTree(leader int, among func(pids []int) []int) {
	pause := 50 * time.Microsecond
	for deadline := time.Now().Add(orphanTimeout); time.Now().Before(deadline); pause = min(2*pause, 10*time.Millisecond) {
		left := slices.DeleteFunc(listOwnChildren(), func(pid int) bool { return pid == leader })
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

// listOwnChildren returns the children of the main thread, including adopted orphans.
func listOwnChildren() []int {
	list, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/children", os.Getpid()))
	if err != nil {
		return scanChildren()
	}
	var pids []int
	for _, field := range strings.Fields(string(list)) {
		if pid, err := strconv.Atoi(field); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// scanChildren searches /proc for children, on kernels without child lists.
func scanChildren() []int {
	var pids []int
	for _, e := range proctable.ReadAll() {
		if e.Parent == os.Getpid() {
			pids = append(pids, e.PID)
		}
	}
	return pids
}

// orphanReaper reaps a child's orphans while the child runs. Otherwise zombies would fill the process table.
type orphanReaper struct {
	leader     int
	filterPIDs func(pids []int) []int // selects the child's processes
	cpuTime    time.Duration          // of reaped processes
}

func newOrphanReaper(leader int, among func(pids []int) []int) *orphanReaper {
	if !adoptsOrphans() {
		return nil
	}
	return &orphanReaper{leader: leader, filterPIDs: among}
}

// reapOrphans reaps the zombies this process has adopted from the child. It does nothing on nil.
func (h *orphanReaper) reapOrphans() {
	if h == nil {
		return
	}
	ended := slices.DeleteFunc(listOwnChildren(), func(pid int) bool {
		e, ok := proctable.Read(pid)
		return pid == h.leader || !ok || e.State != 'Z'
	})
	if len(ended) == 0 {
		return
	}
	for _, pid := range h.filterPIDs(ended) {
		var usage unix.Rusage
		if reaped, err := unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, &usage); err == nil && reaped == pid {
			h.cpuTime += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
	}
}

// reapedCPUTime returns the CPU time of all reaped orphans.
func (h *orphanReaper) reapedCPUTime() time.Duration {
	if h == nil {
		return 0
	}
	return h.cpuTime
}
