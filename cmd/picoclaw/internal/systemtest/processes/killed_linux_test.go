package processes_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// A host that is killed leaves nothing behind: no plugin, no command in the foreground or background, nothing that has
// detached itself, and nothing that was stopped.
func TestKilledHostLeavesNoProcesses(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		t.Run("isolation "+strconv.FormatBool(isolated), func(t *testing.T) {
			home := hosttest.TempDir(t)
			host := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "batch", "--jobs", "2")
			host.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "PICOCLAW_HOME=" + filepath.Join(home, "p"),
				"PICOCLAW_ISOLATION_ENABLED=" + strconv.FormatBool(isolated)}
			in, err := host.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := host.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			host.Stderr = os.Stderr
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = host.Process.Kill(); _ = host.Wait() }()
			answers := bufio.NewReader(out)
			for _, call := range []string{
				`{"id":1,"tool":"list_dir","args":{"path":"."}}`,
				`{"id":2,"tool":"grep","args":{"pattern":"x"}}`,
				`{"id":3,"tool":"exec","args":{"command":"setsid sleep 3011 & sh -c 'kill -STOP $$' & wait","background":true}}`,
			} {
				if _, err := io.WriteString(in, call+"\n"); err != nil {
					t.Fatal(err)
				}
				if answer, err := answers.ReadString('\n'); err != nil || !strings.Contains(answer, `"ok":true`) {
					t.Fatalf("%s: %s %v", call, answer, err)
				}
			}
			if _, err := io.WriteString(in, `{"id":4,"tool":"exec","args":{"command":"sleep 3012"}}`+"\n"); err != nil {
				t.Fatal(err)
			}
			var below map[int]string
			// The first command's own text names what it is about to start: they run when all processes are there.
			hosttest.WaitUntil(t, "the commands run", func() bool {
				below = clitest.DescendantProcesses(host.Process.Pid)
				all := strings.Join(clitest.CommandLines(below), "\n")
				return strings.Contains(all, "sleep 3011") && strings.Contains(all, "sleep 3012") && strings.Contains(all,
					"kill -STOP") && len(below) >= 7
			})
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			hosttest.WaitUntil(t, "all that it has started is gone", func() bool {
				for pid := range below {
					if hosttest.IsProcessAlive(pid) {
						return false
					}
				}
				return true
			})
		})
	}
}
