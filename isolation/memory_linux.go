package isolation

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/limits"
)

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
