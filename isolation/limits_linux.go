package isolation

import (
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/limits"
	"github.com/picoclaw/picoclaw/internal/proctable"
)

// LimitSelf permanently lowers the limits of this process and its children on file size, descriptors and core dumps.
func LimitSelf(l ProcessLimits) error {
	for _, limit := range []struct {
		name     string
		resource int
		max      uint64
	}{
		{"the size of a file", unix.RLIMIT_FSIZE, unlimitedIfZero(l.FileSize)},
		{"open files", unix.RLIMIT_NOFILE, unlimitedIfZero(int64(l.OpenFiles))},
	} {
		if _, err := lowerRlimit(0, limit.resource, limit.max); err != nil {
			return fmt.Errorf("limit %s: %w", limit.name, err)
		}
	}
	if err := disableCoreDumps(); err != nil {
		return fmt.Errorf("limit core dumps: %w", err)
	}
	return nil
}

// disableCoreDumps limits core dumps to 1 byte. The kernel ignores a limit of 0 if a program collects core dumps.
func disableCoreDumps() error {
	var now unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &now); err != nil {
		return err
	}
	most := min(now.Max, 1)
	return unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{Cur: most, Max: most})
}

func unlimitedIfZero(n int64) uint64 {
	if n <= 0 {
		return math.MaxUint64
	}
	return uint64(n)
}

// lowerRlimit lowers the soft and hard value of a process's limit, and reports whether it changed one.
func lowerRlimit(pid, resource int, limit uint64) (lowered bool, err error) {
	var now unix.Rlimit
	if err = unix.Prlimit(pid, resource, nil, &now); err != nil {
		return false, err
	}
	want := unix.Rlimit{Cur: min(now.Cur, limit), Max: min(now.Max, limit)}
	if want == now {
		return false, nil
	}
	err = unix.Prlimit(pid, resource, &want, nil)
	return err == nil, err
}

// lowerProcessLimits lowers the kernel's limits of a running process, and reports whether one was higher. Processes
// that it forked earlier keep higher limits.
func lowerProcessLimits(pid int, l ProcessLimits) (lowered bool, err error) {
	for resource, limit := range map[int]int64{unix.RLIMIT_FSIZE: l.FileSize, unix.RLIMIT_NOFILE: int64(l.OpenFiles)} {
		did, err := lowerRlimit(pid, resource, unlimitedIfZero(limit))
		if err != nil && !errors.Is(err, unix.ESRCH) {
			return false, fmt.Errorf("limit process %d: %w", pid, err)
		}
		lowered = lowered || did
	}
	return lowered, nil
}

// Intervals of checks of a process tree. They are shorter while it grows fast.
const (
	watchInterval     = 100 * time.Millisecond
	fastWatchInterval = 10 * time.Millisecond
	fastProcessGrowth = 32       // processes and threads between checks
	fastMemoryGrowth  = 64 << 20 // bytes between checks
)

// enforceLimits checks a process tree periodically until it ends, and kills it when it exceeds a limit. members
// returns the tree's processes. A non-nil reaper reaps the tree's orphans.
func (p *Process) enforceLimits(l ProcessLimits, members func() []int, reaper *orphanReaper) {
	unlimited := l.Processes <= 0 && l.Memory <= 0 && l.CPU <= 0
	if unlimited && reaper == nil {
		return
	}
	timer := time.NewTimer(fastWatchInterval)
	defer timer.Stop()
	var before processTreeUsage
	var inFiles memfdUsage
	for {
		select {
		case <-p.done:
			return
		case <-timer.C:
		}
		reaper.reapOrphans()
		if unlimited {
			timer.Reset(watchInterval)
			continue
		}
		pids := members()
		files := int64(0)
		if l.Memory > 0 {
			files = inFiles.measureSize(pids)
		}
		now, exceeded := findExceededLimit(l, pids, reaper.reapedCPUTime(), files)
		if exceeded != "" {
			p.exceeded.CompareAndSwap(nil, &exceeded)
			p.Kill()
			return
		}
		if now.threads > before.threads+fastProcessGrowth || now.resident > before.resident+fastMemoryGrowth {
			timer.Reset(fastWatchInterval)
		} else {
			timer.Reset(watchInterval)
		}
		before = now
	}
}

// findExceededLimit returns the usage of a tree, and a description of all exceeded limits or "". before is the CPU time
// of ended processes, and files the size of open memory files.
func findExceededLimit(l ProcessLimits, pids []int, before time.Duration, files int64) (sum processTreeUsage, what string) {
	sum.cpu = before
	for _, pid := range pids {
		sum.addProcess(pid)
	}
	var exceeded []string
	add := func(key, format string, limit any) {
		exceeded = append(exceeded, fmt.Sprintf(format+" (%s)", limit, l.FullKey(key)))
	}
	if l.Processes > 0 && sum.threads > l.Processes {
		add(limits.ProcessesKey, "more than %d processes and threads", l.Processes)
	}
	if l.CPU > 0 && sum.cpu > l.CPU {
		add(limits.CPUKey, "more than %s of processor time", l.CPU)
	}
	if l.Memory > 0 && sum.resident+files > l.Memory && sumProportionalMemory(pids, files, l.Memory) > l.Memory {
		add(limits.MemoryKey, "more than %d MB of memory", l.Memory>>20)
	}
	return sum, strings.Join(exceeded, " and ")
}

// processTreeUsage is the resource usage of a process tree.
type processTreeUsage struct {
	threads  int
	resident int64 // bytes; shared memory counts several times
	cpu      time.Duration
}

// ticksPerSecond is the unit of CPU times in /proc, which is constant on Linux.
const ticksPerSecond = 100

// addProcess adds the usage of a process and its reaped children.
func (u *processTreeUsage) addProcess(pid int) {
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

// MachineMemory returns the memory of this machine in bytes; 0 if unknown.
func MachineMemory() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return int64(info.Totalram) * int64(info.Unit)
}

// sumProportionalMemory returns held plus the memory of the processes in bytes, and counts shared pages once. It returns
// early when the sum reaches enough. It is slow, so call it only if the sum of resident sizes is too large.
func sumProportionalMemory(pids []int, held, enough int64) int64 {
	var all, files int64 // files of memory that are mapped are in all, and some of them in held
	for _, pid := range pids {
		rollup, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err != nil {
			var own processTreeUsage
			own.addProcess(pid)
			all += own.resident
			continue
		}
		for line := range strings.Lines(string(rollup)) {
			if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
				all += parseKilobytesToBytes(rest)
			} else if rest, ok := strings.CutPrefix(line, "Pss_Shmem:"); ok {
				files += parseKilobytesToBytes(rest)
			}
		}
		if all > enough {
			return all
		}
	}
	return max(all, all-files+held)
}

// vmstat is the kernel's file that counts processes killed for lack of memory on the machine.
const vmstat = "/proc/vmstat"

// newOOMKillCheck returns a function that describes the memory limit of a process or its group if the kernel has killed
// a process for lack of memory since this call, and "" otherwise. It returns nil without a memory limit.
func newOOMKillCheck(p Profile, counters string) func() string {
	limit := ""
	switch l := p.Limits; {
	case l.Memory > 0:
		limit = fmt.Sprintf("more memory than its agent's commands have together, each of them at most %d MB (%s)", l.Memory>>20,
			l.FullKey(limits.MemoryKey))
	case p.Group.Memory > 0:
		limit = fmt.Sprintf("more than the %d MB of memory that it and its commands have together", p.Group.Memory>>20)
	}
	before, ok := countOOMKills(counters)
	if limit == "" || !ok {
		return nil
	}
	return func() string {
		if now, _ := countOOMKills(counters); now <= before {
			return ""
		}
		return limit
	}
}

func countOOMKills(counters string) (kills int, ok bool) {
	text, err := os.ReadFile(counters)
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(text)) {
		if number, found := strings.CutPrefix(line, "oom_kill "); found {
			kills, err = strconv.Atoi(strings.TrimSpace(number))
			return kills, err == nil
		}
	}
	return 0, false
}

// parseKilobytesToBytes converts text such as " 123 kB" to bytes.
func parseKilobytesToBytes(value string) int64 {
	kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
	return kb << 10
}

// memfdCheckInterval is the number of limit checks between two searches for memory files, as long as none is found.
const memfdCheckInterval = 10

// memfdUsage measures the memory files that processes have open (memfd_create). The kernel counts them for no process
// until they are mapped.
type memfdUsage struct {
	looks int
	bytes int64
}

// measureSize returns the total size of the processes' memory files in bytes.
func (h *memfdUsage) measureSize(pids []int) int64 {
	h.looks++
	if h.bytes == 0 && h.looks%memfdCheckInterval != 0 {
		return 0
	}
	h.bytes = 0
	seen := make(map[uint64]bool)
	for _, pid := range pids {
		h.bytes += sumMemoryFiles("/proc/"+strconv.Itoa(pid)+"/fd/", seen)
	}
	return h.bytes
}

// sumMemoryFiles returns the size of a process's memory files, and adds them to seen. It skips files in seen.
func sumMemoryFiles(descriptors string, seen map[uint64]bool) (bytes int64) {
	dir, err := os.Open(descriptors)
	if err != nil {
		return 0 // it has ended
	}
	defer func() { _ = dir.Close() }()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		var info unix.Stat_t
		target, err := os.Readlink(descriptors + name)
		if err != nil || !strings.HasPrefix(target, "/memfd:") || unix.Stat(descriptors+name, &info) != nil ||
			seen[info.Ino] {
			continue
		}
		seen[info.Ino] = true
		bytes += info.Blocks * 512
	}
	return bytes
}
