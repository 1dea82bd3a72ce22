package isolation

import (
	"math/rand/v2"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// brand marks a child, and all that will ever descend from it, where there is no Landlock domain to know them by.
//
// It is the limit on file locks (RLIMIT_LOCKS), which the kernel keeps, passes on to every child and has ignored for
// twenty years. Whoever has no privilege can lower it but not raise it, so nobody can take the brand of an older
// child's, and lowering it to a later child's is dying with that one: what is older than its leader does not belong to
// it.
type brand uint64

// noBrand is what nobody has: this process could not set a limit of its own.
const noBrand brand = 0

// brandStep is how far apart brands are at most. They start at brandFirst, so there are more of them than processes.
const (
	brandStep  = 1 << 32
	brandFirst = 1 << 62
)

// brander gives brands to children, one at a time.
type brander struct{ mu sync.Mutex }

// start starts a child under a brand of its own and returns what it got. This process bears the brand while it forks,
// and a lower one that is nobody's afterwards.
func (b *brander) start(fork func() (pid int, err error)) (brand, error) {
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

// lowerBrand gives this process a brand that nobody has had.
func lowerBrand() error {
	now, ok := brandOf(os.Getpid())
	if !ok {
		return unix.ENOSYS
	}
	next := min(uint64(now), brandFirst) - 1 - rand.Uint64N(brandStep)
	return unix.Prlimit(0, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: next, Max: next}, nil)
}

// brandOf reads the brand of a process of this user's.
func brandOf(pid int) (brand, bool) {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit)
	return brand(limit.Max), err == nil
}

// among returns those of pids that bear the brand.
func (b brand) among(pids []int) []int {
	var found []int
	for _, pid := range pids {
		if b.on(pid) {
			found = append(found, pid)
		}
	}
	return found
}

// on reports whether a process bears the brand.
func (b brand) on(pid int) bool {
	got, ok := brandOf(pid)
	return ok && b != noBrand && got == b
}
