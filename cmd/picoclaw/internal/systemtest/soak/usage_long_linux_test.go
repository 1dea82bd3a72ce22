//go:build long

package soak_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// usage is what a process uses.
type usage struct{ memory, descriptors, threads int }

// usageLog has a usage per second of the gateway and of each plugin, by their names: of one process, the mean if there
// are several. Plugins that are idle are stopped, and have no sample then.
type usageLog struct {
	pid     int
	seconds int
	samples map[string][]sample
	seen    map[int]string // command lines of all processes of the gateway
}

type sample struct {
	second int
	usage
}

// watch samples until done is closed.
func (l *usageLog) watch(done <-chan struct{}) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			l.sample()
		}
	}
}

func (l *usageLog) sample() {
	l.seconds++
	processes := map[string][]usage{"the gateway": {readUsage(l.pid)}}
	for pid, line := range clitest.DescendantProcesses(l.pid) {
		l.seen[pid] = line
		if program, _, _ := strings.Cut(line, " "); strings.Contains(program, "bin/plugins/") {
			name := "plugin " + filepath.Base(program)
			if u := readUsage(pid); u.memory > 0 { // it has not ended meanwhile
				processes[name] = append(processes[name], u)
			}
		}
	}
	for name, all := range processes {
		var mean usage
		for _, u := range all {
			mean.memory += u.memory / len(all)
			mean.descriptors += u.descriptors
			mean.threads += u.threads
		}
		mean.descriptors, mean.threads = mean.descriptors/len(all), mean.threads/len(all)
		l.samples[name] = append(l.samples[name], sample{l.seconds, mean})
	}
}

// readUsage returns zeros for a process that has ended.
func readUsage(pid int) (u usage) {
	dir := filepath.Join("/proc", strconv.Itoa(pid))
	status, _ := os.ReadFile(filepath.Join(dir, "status"))
	for line := range strings.Lines(string(status)) {
		name, rest, _ := strings.Cut(line, ":")
		if name != "VmRSS" && name != "Threads" {
			continue
		}
		number, _ := strconv.Atoi(strings.Fields(rest)[0])
		if name == "VmRSS" {
			u.memory = number << 10
		} else {
			u.threads = number
		}
	}
	open, _ := os.ReadDir(filepath.Join(dir, "fd"))
	u.descriptors = len(open)
	return u
}

// checkFlat compares the medians of the second and the last fifth: in the first, caches fill and the runtime starts its
// threads. A Go heap of this size differs by some megabytes between two collections. Descriptors and threads belong to
// calls in flight, and Go keeps the threads of its busiest moment. There are thousands of calls in between, so that a
// leak of 4 KiB, or of a descriptor or thread for one call in a hundred, exceeds these tolerances.
func (l *usageLog) checkFlat(t *testing.T) {
	t.Helper()
	fifth := l.seconds / 5
	if fifth < 10 {
		t.Fatalf("only %d samples: set -soak to a minute or more", l.seconds)
	}
	for name, all := range l.samples {
		for _, one := range []struct {
			unit      string
			of        func(sample) int
			tolerance int
		}{
			{"bytes of memory", func(s sample) int { return s.memory }, 12 << 20},
			{"file descriptors", func(s sample) int { return s.descriptors }, 12},
			{"threads", func(s sample) int { return s.threads }, 12},
		} {
			before, after := median(all, fifth, 2*fifth, one.of), median(all, l.seconds-fifth, l.seconds, one.of)
			t.Logf("%s: %d %s, later %d", name, before, one.unit, after)
			if after > before+one.tolerance {
				t.Errorf("%s grew from %d to %d %s: %s", name, before, after, one.unit, curve(all, one.of))
			}
		}
	}
}

// median returns the median of the seconds after from until to; 0 if there is none.
func median(samples []sample, from, to int, of func(sample) int) int {
	var all []int
	for _, s := range samples {
		if s.second > from && s.second <= to {
			all = append(all, of(s))
		}
	}
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[len(all)/2]
}

// curve has some twenty of the values.
func curve(samples []sample, of func(sample) int) string {
	var out []string
	for i := 0; i < len(samples); i += max(len(samples)/20, 1) {
		out = append(out, fmt.Sprint(of(samples[i])))
	}
	return strings.Join(out, " ")
}
