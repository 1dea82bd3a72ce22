package isolation

import (
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// markedProcessTree is the process tree of a child without pid namespace or Landlock domain. Its members are the
// child's descendants, its process group and session, and processes with its mark.
type markedProcessTree struct {
	leader int // also its group and session; not reaped while it is used
	mark   processMark
}

func (t markedProcessTree) listMembers() []proctable.ProcessEntry {
	table := proctable.ReadAll()
	found := proctable.Descendants(table, t.leader)
	known := map[int]bool{}
	for _, e := range found {
		known[e.PID] = true
	}
	leader, _ := proctable.Read(t.leader)
	for _, e := range table {
		if known[e.PID] {
			continue
		}
		if e.PID == t.leader || e.Group == t.leader || e.Session == t.leader || t.mark.isMarkOf(e.PID) && e.Started >= leader.Started {
			found = append(found, e)
		}
	}
	return found
}

func (t markedProcessTree) filterPIDs(pids []int) []int { return t.mark.filterPIDs(pids) }

func (t markedProcessTree) signalAll(sig syscall.Signal) error {
	for _, e := range t.listMembers() {
		if e.IsAlive() {
			// It may end at any moment; that is not an error.
			_ = e.Signal(sig)
		}
	}
	return nil
}

// killAll stops all processes before it kills them. Otherwise a parent could start a process when its child dies, and
// a process that forks constantly could escape between the search and the kill.
func (t markedProcessTree) killAll() {
	stopped := map[int]int64{}
	for again := true; again; {
		again = false
		for _, e := range t.listMembers() {
			if e.IsAlive() && stopped[e.PID] != e.Started && e.Signal(unix.SIGSTOP) == nil {
				stopped[e.PID] = e.Started
				again = true
			}
		}
	}
	_ = unix.Kill(-t.leader, unix.SIGKILL)
	_ = t.signalAll(unix.SIGKILL)
}
