package faults_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// auditReaders are the commands that read the audit log.
var auditReaders = [][]string{{"audit"}, {"audit", "--limit", "0"}, {"audit", "stats"}, {"audit", "export"}, {"audit", "replay"},
	{"audit", "verify"}}

func TestDamagedAuditLogIsNamed(t *testing.T) {
	t.Parallel()
	write := func(text string) func(path string) error {
		return func(path string) error { return os.WriteFile(path, []byte(text), 0o600) }
	}
	link := func(target string) func(path string) error {
		return func(path string) error { return errors.Join(os.Remove(path), os.Symlink(target, path)) }
	}
	for name, c := range map[string]struct {
		damage  func(path string) error
		readers [][]string
	}{
		"lines":     {write("xx\nxx\n"), [][]string{{"audit", "verify"}}},
		"zeros":     {write(strings.Repeat("\x00", 5000)), [][]string{{"audit", "verify"}}},
		"empty":     {write(""), auditReaders},
		"missing":   {os.Remove, auditReaders},
		"/dev/null": {link("/dev/null"), auditReaders},
		"FIFO":      {func(path string) error { return errors.Join(os.Remove(path), unix.Mkfifo(path, 0o600)) }, auditReaders},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := clitest.NewHome(t)
			expect(t, home, clitest.ExitOK, nil, "call", "list_dir", "path=.")
			log, list := filepath.Join(home.Dir, "logs", "audit.jsonl"), filepath.Join(home.Dir, "files.json")
			if err := c.damage(log); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				expect(t, home, clitest.ExitStart, []string{log, "restore a copy", list}, "call", "write_file", "path=made", "content=x")
				for _, args := range c.readers {
					cmd := home.Command("timeout", append([]string{"60", home.Program}, args...)...)
					if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != clitest.ExitFailed ||
						!strings.Contains(string(out), log) || !strings.Contains(string(out), "restore a copy") {
						t.Errorf("%v: %s %s; want an error with %s and the remedy", args, cmd.ProcessState, out, log)
					}
				}
			}
			if _, err := os.Stat(filepath.Join(home.Workspace, "made")); err == nil {
				t.Error("a call without an entry ran")
			}
			// The remedy works.
			text, err := os.ReadFile(list)
			if err != nil {
				t.Fatal(err)
			}
			_ = os.Rename(log, log+".damaged")
			if err := os.WriteFile(list, []byte(strings.Replace(string(text), `"logs/audit.jsonl",`, "", 1)), 0o600); err != nil {
				t.Fatal(err)
			}
			expect(t, home, clitest.ExitOK, nil, "call", "list_dir", "path=.")
			expect(t, home, clitest.ExitOK, []string{"ok:"}, "audit", "verify")
		})
	}
}

func TestCallWithoutBeginEntryDidNotRun(t *testing.T) {
	t.Parallel()
	agent := clitest.NewAgent(t, false)
	call := agent.StartBatch()
	if r := call(clitest.NewExecCall("echo x")); !r.OK {
		t.Fatal(r.FullText())
	}
	log := filepath.Join(agent.Home, "logs", "audit.jsonl")
	if err := errors.Join(os.Remove(log), os.Symlink("/dev/full", log)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := call(clitest.NewExecCall("touch made"))
		if r.OK || !strings.Contains(r.FullText(), "the call did not run") || strings.Contains(r.FullText(), "the call ran") {
			t.Error(r.FullText())
		}
	}
	if _, err := os.Stat(filepath.Join(agent.Workspace, "made")); err == nil {
		t.Error("it ran")
	}
}
