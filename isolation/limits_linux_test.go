package isolation

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Each limit ends or refuses what exceeds it, and without it the same script goes through.
func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		limits ProcessLimits
		script string
		says   string
	}{
		"processes": {ProcessLimits{Processes: 20}, "for i in $(seq 40); do setsid sleep SECONDS & done; wait",
			"more than 20 processes"},
		"memory": {ProcessLimits{Memory: 64 << 20},
			"dd if=/dev/zero bs=150000000 count=1 2>/dev/null | (sleep SECONDS; cat >/dev/null)", "more than 64 MB"},
		"cpu": {ProcessLimits{CPU: 100 * time.Millisecond}, "i=0; while [ $i -lt 400000 ]; do i=$((i+1)); done",
			"more than 100ms"},
		"file size": {ProcessLimits{FileSize: 1 << 20}, "AWAIT -f 2048; head -c 2000000 /dev/zero > big || exit 1", ""},
		"open files": {ProcessLimits{OpenFiles: 40},
			"AWAIT -n 40; for i in $(seq 3 9); do eval \"exec $i</dev/null\"; done; ulimit -n 1000 && exit 0; exit 1", ""},
	} {
		for mode, enabled := range modes {
			t.Run(mode+"/"+name, func(t *testing.T) {
				i := configured(t, Config{Enabled: enabled})
				dir := realTemp(t)
				run := func(l ProcessLimits) result {
					// What a process keeps to itself is set a moment after its start.
					await := "await() { for t in $(seq 200); do [ \"$(ulimit $1)\" = $2 ] && break; sleep 0.05; done; }; await"
					seconds := "20" // a busy machine is long in coming to the limit, or in looking
					if l == (ProcessLimits{}) {
						await, seconds = ":", "0"
					}
					cmd := shell(strings.NewReplacer("AWAIT", await, "SECONDS", seconds).Replace(c.script))
					cmd.Dir = dir
					return outcome(t, i, cmd, Profile{Exec: true, Confine: true, ReadWrite: []string{dir}, Limits: l})
				}
				if free := run(ProcessLimits{}); !free.exit.Success() {
					t.Fatalf("without a limit it fails too: %s", free.stderr)
				}
				if r := run(c.limits); r.exit.Success() || !strings.Contains(r.exit.Exceeded, c.says) {
					t.Errorf("%v, %q, %s", r.exit, r.exit.Exceeded, r.stderr)
				}
			})
		}
	}
}

// A file in memory is its owner's memory, mapped or not, and however many have it open.
func TestMemoryFilesAreLimited(t *testing.T) {
	const hold = `
import os, sys, time, mmap
fd = os.memfd_create("held")
for _ in range(int(sys.argv[1])):
    os.write(fd, b"x" * (1 << 20))
if sys.argv[2] == "mapped":
    whole = mmap.mmap(fd, int(sys.argv[1]) << 20)
    sum(whole[i] for i in range(0, len(whole), 4096))
os.fork()
time.sleep(float(sys.argv[3]))
`
	for name, c := range map[string]struct {
		megabytes int
		how       string
		seconds   string
		ended     bool
	}{
		"too much":           {150, "open", "60", true},
		"too much, mapped":   {150, "mapped", "60", true},
		"enough":             {40, "open", "2", false},
		"enough, and mapped": {40, "mapped", "2", false}, // it counts once
	} {
		for mode, enabled := range modes {
			t.Run(mode+"/"+name, func(t *testing.T) {
				t.Parallel()
				i := configured(t, Config{Enabled: enabled})
				cmd := exec.Command("/usr/bin/python3", "-c", hold, strconv.Itoa(c.megabytes), c.how, c.seconds)
				cmd.Env = []string{"PATH=/usr/bin:/bin"}
				r := outcome(t, i, cmd, Profile{Exec: true, Confine: true, Limits: ProcessLimits{Memory: 90 << 20}})
				if ended := strings.Contains(r.exit.Exceeded, "more than 90 MB of memory"); ended != c.ended ||
					r.exit.Success() == c.ended {
					t.Errorf("%v, %q, %s", r.exit, r.exit.Exceeded, r.stderr)
				}
			})
		}
	}
}
