package isolation

import (
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// inherited reaps what a child's processes leave behind while it runs. Where this process adopts orphans, those that
// have ended would stay in the table of processes, and take from everybody's, until the child ends.
type inherited struct {
	leader int
	among  func(pids []int) []int // those that are the child's
	used   time.Duration          // processor time of those that were reaped
}

func newInherited(leader int, among func(pids []int) []int) *inherited {
	if !adoptsOrphans() {
		return nil
	}
	return &inherited{leader: leader, among: among}
}

// reap reaps those that have ended. On nil it does nothing.
func (h *inherited) reap() {
	if h == nil {
		return
	}
	ended := slices.DeleteFunc(adopted(), func(pid int) bool {
		e, ok := proctable.Read(pid)
		return pid == h.leader || !ok || e.State != 'Z'
	})
	if len(ended) == 0 {
		return
	}
	for _, pid := range h.among(ended) {
		var usage unix.Rusage
		if reaped, err := unix.Wait4(pid, nil, unix.WNOHANG|unix.WALL, &usage); err == nil && reaped == pid {
			h.used += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
	}
}

// cpu is the processor time of what was reaped.
func (h *inherited) cpu() time.Duration {
	if h == nil {
		return 0
	}
	return h.used
}
