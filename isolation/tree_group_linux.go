package isolation

import (
	"math/rand/v2"
	"os"
	"sync"
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

// processMark marks a child and all its descendants where no Landlock domain identifies them.
//
// The mark is the limit on file locks (RLIMIT_LOCKS). Children inherit this limit, but the kernel has not enforced it
// for twenty years. Unprivileged processes can lower it and not raise it, so none can take the mark of an older child.
// A process that lowers it to a later child's mark is killed with that child.
type processMark uint64

// noMark means that this process could not set the limit.
const noMark processMark = 0

const (
	// maxMarkStep is the maximum distance of marks. Marks start at firstMark, so there are more marks than processes.
	maxMarkStep = 1 << 32
	firstMark   = 1 << 62
)

// processMarker starts children with a mark of their own, one at a time.
type processMarker struct{ mu sync.Mutex }

// startMarked takes a new mark, calls fork, which starts a child, and returns the child's mark. Afterwards this
// process takes another mark.
func (b *processMarker) startMarked(fork func() (pid int, err error)) (processMark, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	branded := takeNewMark() == nil
	pid, err := fork()
	if err != nil || !branded {
		return noMark, err
	}
	_ = takeNewMark()
	got, _ := readMark(pid)
	return got, nil
}

// takeNewMark gives this process an unused mark.
func takeNewMark() error {
	now, ok := readMark(os.Getpid())
	if !ok {
		return unix.ENOSYS
	}
	next := min(uint64(now), firstMark) - 1 - rand.Uint64N(maxMarkStep)
	return unix.Prlimit(0, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: next, Max: next}, nil)
}

// readMark returns the mark of a process of this user.
func readMark(pid int) (processMark, bool) {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit)
	return processMark(limit.Max), err == nil
}

// filterPIDs returns the processes with the mark.
func (b processMark) filterPIDs(pids []int) []int {
	var found []int
	for _, pid := range pids {
		if b.isMarkOf(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// isMarkOf reports whether a process has the mark.
func (b processMark) isMarkOf(pid int) bool {
	got, ok := readMark(pid)
	return ok && b != noMark && got == b
}
