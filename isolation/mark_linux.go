package isolation

import (
	"math/rand/v2"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

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
