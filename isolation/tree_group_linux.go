package isolation

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// groupTree is a child without pid namespace or domain: its processes are its descendants, those in its process group
// or session, and those with its brand.
type groupTree struct {
	leader int // also its group and session; not reaped while it is used
	brand  processBrand
}

func (t groupTree) listMembers() []proctable.Entry {
	table := proctable.All()
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
		if e.PID == t.leader || e.Group == t.leader || e.Session == t.leader || t.brand.marksProcess(e.PID) && e.Started >= leader.Started {
			found = append(found, e)
		}
	}
	return found
}

func (t groupTree) filterPIDs(pids []int) []int { return t.brand.filterPIDs(pids) }

func (t groupTree) signalAll(sig os.Signal) error {
	number, ok := sig.(unix.Signal)
	if !ok {
		return fmt.Errorf("send %v: not a signal of this system", sig)
	}
	for _, e := range t.listMembers() {
		if e.Alive() {
			// It may end at any moment; that is not an error.
			_ = e.Signal(number)
		}
	}
	return nil
}

// killAll stops everybody before it kills anybody: a parent that saw its child
// die could start another one, and one that forks all the time would get away
// between looking and killing.
func (t groupTree) killAll() {
	stopped := map[int]int64{}
	for again := true; again; {
		again = false
		for _, e := range t.listMembers() {
			if e.Alive() && stopped[e.PID] != e.Started && e.Signal(unix.SIGSTOP) == nil {
				stopped[e.PID] = e.Started
				again = true
			}
		}
	}
	_ = unix.Kill(-t.leader, unix.SIGKILL)
	_ = t.signalAll(unix.SIGKILL)
}
