package isolation

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// groupTree is a child without a pid namespace: what belongs to it is what
// descends from it, and what is in its process group or session.
type groupTree struct {
	leader int // also its group and session; not reaped while it is used

	// left returns what it has detached, as far as that can be told; may be
	// nil.
	left func(table []procEntry) []procEntry
}

func (t groupTree) members() []procEntry {
	table := processTable()
	found := descendants(table, t.leader)
	if t.left != nil {
		found = append(found, t.left(table)...)
	}
	known := map[int]bool{}
	for _, e := range found {
		known[e.pid] = true
	}
	for _, e := range table {
		if !known[e.pid] && (e.pid == t.leader || e.group == t.leader || e.session == t.leader) {
			found = append(found, e)
		}
	}
	return found
}

func (t groupTree) signal(sig os.Signal) error {
	number, ok := sig.(unix.Signal)
	if !ok {
		return fmt.Errorf("send %v: not a signal of this system", sig)
	}
	for _, e := range t.members() {
		if e.alive() {
			// It may end at any moment; that is not an error.
			_ = e.signal(number)
		}
	}
	return nil
}

// kill stops everybody before it kills anybody: a parent that saw its child
// die could start another one, and one that forks all the time would get away
// between looking and killing.
func (t groupTree) kill() {
	stopped := map[int]string{}
	for again := true; again; {
		again = false
		for _, e := range t.members() {
			if e.alive() && stopped[e.pid] != e.started && e.signal(unix.SIGSTOP) == nil {
				stopped[e.pid] = e.started
				again = true
			}
		}
	}
	_ = unix.Kill(-t.leader, unix.SIGKILL)
	_ = t.signal(unix.SIGKILL)
}
