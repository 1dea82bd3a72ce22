package isolation

import (
	"math/rand/v2"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// processBrand marks a child and all its descendants where there is no Landlock domain to identify them.
//
// It is the limit on file locks (RLIMIT_LOCKS), which the kernel stores and inherits, but has ignored for twenty years.
// Unprivileged processes can lower it but not raise it, so none can take the brand of an older child. Lowering it to a
// later child's brand means to be killed with that child.
type processBrand uint64

// noBrand says that this process could not set a limit.
const noBrand processBrand = 0

// brandStep is how far apart brands are at most. They start at brandFirst, so there are more of them than processes.
const (
	// brandStep is the maximum distance of brands. They start at brandFirst, so there are more brands than processes.
	brandStep  = 1 << 32
	brandFirst = 1 << 62
)

// brandAllocator gives brands to children, one at a time.
type brandAllocator struct{ mu sync.Mutex }

// startBranded starts a child with a new brand and returns it. This process has the brand while it forks, and a lower
// one afterwards.
func (b *brandAllocator) startBranded(fork func() (pid int, err error)) (processBrand, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	branded := lowerBrand() == nil
	pid, err := fork()
	if err != nil || !branded {
		return noBrand, err
	}
	_ = lowerBrand()
	got, _ := brandOf(pid)
	return got, nil
}

// lowerBrand gives this process an unused brand.
func lowerBrand() error {
	now, ok := brandOf(os.Getpid())
	if !ok {
		return unix.ENOSYS
	}
	next := min(uint64(now), brandFirst) - 1 - rand.Uint64N(brandStep)
	return unix.Prlimit(0, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: next, Max: next}, nil)
}

// brandOf reads the brand of a process of this user.
func brandOf(pid int) (processBrand, bool) {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit)
	return processBrand(limit.Max), err == nil
}

// filterPIDs returns the processes with the brand.
func (b processBrand) filterPIDs(pids []int) []int {
	var found []int
	for _, pid := range pids {
		if b.marksProcess(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// marksProcess reports whether a process has the brand.
func (b processBrand) marksProcess(pid int) bool {
	got, ok := brandOf(pid)
	return ok && b != noBrand && got == b
}
