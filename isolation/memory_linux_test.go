package isolation

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

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
