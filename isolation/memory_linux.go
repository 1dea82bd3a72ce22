package isolation

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// sharedAwareMemory returns the memory of processes with shared pages counted once, plus held, their open memory files.
// It is slow, so it is used only if the simple sum is too large, and stops at enough.
func sharedAwareMemory(pids []int, held, enough int64) int64 {
	var all, files int64 // files of memory that are mapped are in all, and some of them in held
	for _, pid := range pids {
		rollup, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err != nil {
			var own treeUsage
			own.addProcess(pid)
			all += own.resident
			continue
		}
		for line := range strings.Lines(string(rollup)) {
			if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
				all += parseKilobytes(rest)
			} else if rest, ok := strings.CutPrefix(line, "Pss_Shmem:"); ok {
				files += parseKilobytes(rest)
			}
		}
		if all > enough {
			return all
		}
	}
	return max(all, all-files+held)
}

// vmstat has the number of processes that the kernel ended for lack of memory, in a control group or on the machine.
const vmstat = "/proc/vmstat"

// newKernelLimit returns a function that names the limit on memory if the kernel has ended a process for lack of memory
// since; nil without a limit.
func newKernelLimit(l Limits, counters string) func() string {
	before, ok := countKernelKills(counters)
	if l.Memory <= 0 || !ok {
		return nil
	}
	return func() string {
		if now, _ := countKernelKills(counters); now <= before {
			return ""
		}
		return fmt.Sprintf("more memory than its agent's commands have together, each of them at most %d MB", l.Memory>>20)
	}
}

func countKernelKills(counters string) (kills int, ok bool) {
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

// parseKilobytes parses a value such as " 123 kB" to bytes.
func parseKilobytes(value string) int64 {
	kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
	return kb << 10
}

// memfdCheckInterval is the number of checks between searches for memory files while none were found.
const memfdCheckInterval = 10

// memfdUsage measures the memory files processes have open, as by memfd_create. They count for no process until mapped.
type memfdUsage struct {
	looks int
	bytes int64
}

// measure returns their size in bytes.
func (h *memfdUsage) measure(pids []int) int64 {
	h.looks++
	if h.bytes == 0 && h.looks%memfdCheckInterval != 0 {
		return 0
	}
	h.bytes = 0
	seen := make(map[uint64]bool)
	for _, pid := range pids {
		h.bytes += addMemoryFiles("/proc/"+strconv.Itoa(pid)+"/fd/", seen)
	}
	return h.bytes
}

// addMemoryFiles adds up the memory files of a process that are not in seen.
func addMemoryFiles(descriptors string, seen map[uint64]bool) (bytes int64) {
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
