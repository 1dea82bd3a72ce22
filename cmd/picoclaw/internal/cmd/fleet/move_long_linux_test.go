//go:build long

package fleet_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// Whoever is killed during a move, and whenever, one worker has the agent then, with all that it had.
func TestAMoveSurvivesItsWorkers(t *testing.T) {
	t.Parallel()
	f := newFleetOf(t)
	const files = 300
	for n := range files {
		if err := os.WriteFile(filepath.Join(f.one.Workspace, fmt.Sprintf("%03d", n)), make([]byte, 100_000),
			0o600); err != nil {
			t.Fatal(err)
		}
	}
	at := map[string]clitest.Home{"one": f.one, "two": f.two}
	running := map[string]*exec.Cmd{"one": f.one.StartWorker(t, f.identities["one"], 1)}
	running["two"] = standby(f.two, t, f.identities["two"])
	for round := range 6 {
		from, to := f.where(t), "two"
		if from == "two" {
			to = "one"
		}
		victim := []string{from, to}[round%2]
		move := f.center.Command(hosttest.ProgramPath("bin/picoclaw"), "fleet", "move", "main", to, "--fleet", f.admin)
		if err := move.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(900+round*250) * time.Millisecond) // anywhere in it
		_ = running[victim].Process.Kill()
		_ = running[victim].Wait()
		_ = move.Process.Kill()
		_ = move.Wait()
		other := running[map[string]string{"one": "two", "two": "one"}[victim]].Process
		// When it has been silent for three seconds the other one takes the agent, with the workspace that it has.
		slow := time.AfterFunc(2*time.Second, func() { _ = other.Signal(syscall.SIGSTOP) })
		running[victim] = at[victim].StartPicoclaw(t, "the worker "+victim+" ", "worker", "--fleet", f.identities[victim])
		slow.Stop()
		if err := other.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		count := func(name string) int {
			all, err := os.ReadDir(at[name].Workspace)
			if err != nil {
				t.Fatal(err)
			}
			return len(all)
		}
		comes(t, "one has it all", func() bool {
			out, _ := f.center.Run(t, "fleet", "status", "--fleet", f.gateway)
			return !strings.Contains(out, "on its way") && !strings.Contains(out, "is gone") &&
				count("one")+count("two") == files &&
				count(f.where(t)) == files
		})
		comes(t, fmt.Sprintf("round %d: the agent can be called", round), func() bool {
			out, _ := f.center.Run(t, "call", "--fleet", f.gateway, "--agent", "main", "file_stat", "path=299")
			return strings.Contains(out, "100000")
		})
	}
}
