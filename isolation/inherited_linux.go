package isolation

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

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
