package isolation

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// inMemory is the memory of processes with what several share counted once, and with held, the files in memory that
// they have open: these belong to them whether they are mapped or not. It takes long to find out, so it is only asked
// for when the cheaper sum is too large, and stops at enough.
func inMemory(pids []int, held, enough int64) int64 {
	var all, files int64 // files of memory that are mapped are in all, and some of them in held
	for _, pid := range pids {
		rollup, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/smaps_rollup")
		if err != nil {
			var own usage
			own.add(pid)
			all += own.resident
			continue
		}
		for line := range strings.Lines(string(rollup)) {
			if rest, ok := strings.CutPrefix(line, "Pss:"); ok {
				all += kilobytes(rest)
			} else if rest, ok := strings.CutPrefix(line, "Pss_Shmem:"); ok {
				files += kilobytes(rest)
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

// kilobytes reads a value such as " 123 kB" and returns it in bytes.
func kilobytes(value string) int64 {
	kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
	return kb << 10
}

// heldEvery is at how many looks files in memory are looked for, where there were none the last time.
const heldEvery = 10

// held looks for the files in memory that processes have open, as memfd_create makes them. They are in no process's
// memory until they are mapped.
type held struct {
	looks int
	bytes int64
}

// look returns how much they have, in bytes.
func (h *held) look(pids []int) int64 {
	h.looks++
	if h.bytes == 0 && h.looks%heldEvery != 0 {
		return 0
	}
	h.bytes = 0
	seen := make(map[uint64]bool)
	for _, pid := range pids {
		h.bytes += filesInMemory("/proc/"+strconv.Itoa(pid)+"/fd/", seen)
	}
	return h.bytes
}

// filesInMemory adds up those of one process that are not seen yet.
func filesInMemory(descriptors string, seen map[uint64]bool) (bytes int64) {
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
