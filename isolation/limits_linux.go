package isolation

import (
	"errors"
	"fmt"
	"math"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/proctable"
)

// LimitSelf lowers this process's own limits on the size of a file, on open descriptors and on core dumps, for good.
// Children inherit them from their first moment on, and can't raise them.
func LimitSelf(l Limits) error {
	for _, limit := range []struct {
		name     string
		resource int
		max      uint64
	}{
		{"the size of a file", unix.RLIMIT_FSIZE, orUnlimited(l.FileSize)},
		{"open files", unix.RLIMIT_NOFILE, orUnlimited(int64(l.OpenFiles))},
	} {
		if _, err := lower(0, limit.resource, limit.max); err != nil {
			return fmt.Errorf("limit %s: %w", limit.name, err)
		}
	}
	if err := noCores(); err != nil {
		return fmt.Errorf("limit core dumps: %w", err)
	}
	return nil
}

// noCores keeps the kernel from writing core dumps. Where a program takes them, which runs as root and outside of every
// sandbox, a limit of nothing does not count, and a limit of one byte means none.
func noCores() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &now); err != nil {
		return err
	}
	most := min(now.Max, 1)
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: most, Max: most})
}

func orUnlimited(n int64) uint64 {
	if n <= 0 {
		return math.MaxUint64
	}
	return uint64(n)
}

// lower lowers both bounds of a limit of a process, and raises neither. It reports whether there was something to
// lower.
func lower(pid, resource int, limit uint64) (lowered bool, err error) {
	var now unix.Rlimit
	if err := unix.Prlimit(pid, resource, nil, &now); err != nil {
		return false, err
	}
	want := unix.Rlimit{Cur: min(now.Cur, limit), Max: min(now.Max, limit)}
	if want == now {
		return false, nil
	}
	err = unix.Prlimit(pid, resource, &want, nil)
	return err == nil, err
}

// lowerLimits lowers the limits that the kernel keeps for a running process, and reports whether one was higher. What
// the process forked before has the limits of this process.
func lowerLimits(pid int, l Limits) (lowered bool, err error) {
	for resource, limit := range map[int]int64{unix.RLIMIT_FSIZE: l.FileSize, unix.RLIMIT_NOFILE: int64(l.OpenFiles)} {
		did, err := lower(pid, resource, orUnlimited(limit))
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return false, fmt.Errorf("limit process %d: %w", pid, err)
		}
		lowered = lowered || did
	}
	return lowered, nil
}

// How often a tree is looked at: more often while it grows fast. A look is not free, and many trees are looked at.
const (
	lookEvery  = 100 * time.Millisecond
	lookClose  = 10 * time.Millisecond
	growsFast  = 32       // processes and threads from one look to the next
	growsLarge = 64 << 20 // bytes in memory
)

// watch looks at a tree until it ends, reaps what it leaves behind, and ends it when it uses too much. members finds
// the tree's processes; left, which may be nil, those that this process has inherited of it.
func (p *Process) watch(l Limits, members func() []int, left *inherited) {
	unlimited := l.Processes <= 0 && l.Memory <= 0 && l.CPU <= 0
	if unlimited && left == nil {
		return
	}
	timer := time.NewTimer(lookClose)
	defer timer.Stop()
	var before usage
	var inFiles held
	for {
		select {
		case <-p.done:
			return
		case <-timer.C:
		}
		left.reap()
		if unlimited {
			timer.Reset(lookEvery)
			continue
		}
		pids := members()
		files := int64(0)
		if l.Memory > 0 {
			files = inFiles.look(pids)
		}
		now, exceeded := exceededLimit(l, pids, left.cpu(), files)
		if exceeded != "" {
			p.exceeded.CompareAndSwap(nil, &exceeded)
			p.Kill()
			return
		}
		if now.threads > before.threads+growsFast || now.resident > before.resident+growsLarge {
			timer.Reset(lookClose)
		} else {
			timer.Reset(lookEvery)
		}
		before = now
	}
}

// exceededLimit returns what the processes of a tree use, and in words the limit that it exceeds; empty for none. before
// is the processor time of processes that have ended, files their memory in files.
func exceededLimit(l Limits, pids []int, before time.Duration, files int64) (sum usage, what string) {
	sum.cpu = before
	for _, pid := range pids {
		sum.add(pid)
		if l.Processes > 0 && sum.threads > l.Processes {
			return sum, fmt.Sprintf("more than %d processes and threads", l.Processes)
		}
	}
	switch {
	case l.CPU > 0 && sum.cpu > l.CPU:
		return sum, fmt.Sprintf("more than %s of processor time", l.CPU)
	case l.Memory > 0 && sum.resident+files > l.Memory && inMemory(pids, files, l.Memory) > l.Memory:
		return sum, fmt.Sprintf("more than %d MB of memory", l.Memory>>20)
	}
	return sum, ""
}

// usage is what processes use.
type usage struct {
	threads  int
	resident int64 // bytes; what several share counts several times
	cpu      time.Duration
}

// ticksPerSecond is the unit of processor times in /proc; Linux has had no other for decades.
const ticksPerSecond = 100

// add adds what one process uses, with what its children have used that it has waited for.
func (u *usage) add(pid int) {
	e, ok := proctable.Read(pid)
	if !ok {
		return
	}
	if e.State == 'Z' {
		// It has a place in the table until somebody reaps it. Those that ended after the last look, and that this process
		// reaps at the next, say nothing against their tree.
		if e.Parent != os.Getpid() {
			u.threads++
		}
		return
	}
	u.threads += e.Threads
	u.resident += e.Pages * int64(os.Getpagesize())
	u.cpu += time.Duration(e.Ticks) * time.Second / ticksPerSecond
}

// MachineMemory is how much memory this machine has, in bytes; 0 if that is not known.
func MachineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}
