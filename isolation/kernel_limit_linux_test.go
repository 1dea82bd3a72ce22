package isolation

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestKernelKillNamesMemoryLimit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		script, counter string
		named           bool
	}{
		{"kill -KILL $$", "oom_kill 8", true},
		{"sh -c 'kill -KILL $$'; exit $?", "oom_kill 8", true},
		{"kill -KILL $$", "oom_kill 7", false},
		{"exit 1", "oom_kill 8", false},
	} {
		counters := filepath.Join(t.TempDir(), "vmstat")
		write := func(line string) {
			t.Helper()
			if err := os.WriteFile(counters, []byte("pgfault 1\n"+line+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		write("oom_kill 7")
		p := &Process{done: make(chan struct{}), oomKillLimit: newOOMKillCheck(Profile{Limits: ProcessLimits{Memory: 64 << 20}}, counters)}
		write(c.counter)
		cmd := exec.Command("sh", "-c", c.script)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		p.reapProcess(cmd, nil)
		if named := strings.Contains(p.exit.Exceeded, "at most 64 MB"); named != c.named {
			t.Errorf("%s, %s: %q", c.script, c.counter, p.exit.Exceeded)
		}
	}
}
