package kernel_test

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// Where doctor says that control groups are on, a plugin and its commands are in one, which they can't leave; where it
// says that they are not, it says what would help, and commands run all the same.
func TestControlGroups(t *testing.T) {
	t.Parallel()
	for _, isolated := range []bool{true, false} {
		t.Run("isolation "+strconv.FormatBool(isolated), func(t *testing.T) {
			home := hosttest.TempDir(t)
			env := []string{"PATH=/usr/bin:/bin", "HOME=" + home, "PICOCLAW_HOME=" + filepath.Join(home, "p"),
				"PICOCLAW_ISOLATION_ENABLED=" + strconv.FormatBool(isolated)}
			doctor := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "doctor")
			doctor.Env = env
			out, err := doctor.Output()
			if err != nil {
				t.Fatal(err)
			}
			row := regexp.MustCompile(`(?m)^control groups +(on|off|impossible) .+\n( +to change it: .+)?`).FindSubmatch(out)
			if row == nil || string(row[1]) != "on" && len(row[2]) == 0 {
				t.Fatalf("doctor does not speak of control groups, or not of what would help:\n%s", out)
			}
			left := filepath.Join(home, "w", "left")
			leave := `for f in /sys/fs/cgroup/cgroup.procs /sys/fs/cgroup/*/cgroup.procs; do (echo $$ > $f && echo $f >> left) 2>/dev/null; done; touch tried; sleep 3013`
			if err := os.MkdirAll(filepath.Join(home, "w"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(home, "w", "leave.sh"), []byte(leave), 0o600); err != nil {
				t.Fatal(err)
			}
			host := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "batch", "--workspace", filepath.Join(home, "w"))
			host.Env, host.Stderr = env, os.Stderr
			in, err := host.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = host.Process.Kill(); _ = host.Wait() }()
			if _, err := io.WriteString(in, `{"id":1,"tool":"exec","args":{"command":"sh leave.sh"}}`+"\n"); err != nil {
				t.Fatal(err)
			}
			hosttest.WaitUntil(t, "the command has tried to leave, or runs where there are no groups", func() bool {
				_, err := os.Stat(filepath.Join(home, "w", "tried"))
				return err == nil
			})
			if string(row[1]) == "on" {
				hosttest.WaitUntil(t, "plugin and command are in a group of their own",
					func() bool { return grouped(host.Process.Pid) })
			}
			if groups, err := os.ReadFile(left); err == nil {
				t.Errorf("it went to %s", groups)
			}
		})
	}
}

// grouped reports whether all below a host, and some are, are in a group that was made for them.
func grouped(host int) bool {
	below := clitest.DescendantProcesses(host)
	for pid := range below {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
		if err == nil && !regexp.MustCompile(`/picoclaw-\d+/shell-1\n`).Match(text) {
			return false
		}
	}
	return strings.Contains(strings.Join(clitest.CommandLines(below), "\n"), "sleep 3013")
}
