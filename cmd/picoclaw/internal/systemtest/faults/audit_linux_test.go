package faults_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

func TestKilledHostLeavesBeginOfCall(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ tool, argument string }{
		"command":    {"exec", "command=touch begun; sleep 600"},
		"secret":     {"exec", "command=PASSWORD=hunter2 touch begun; sleep 600"},
		"background": {"exec", "command=sh -c 'touch begun; sleep 600'; :"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := clitest.NewHome(t)
			expect(t, home, clitest.ExitOK, nil, "call", "list_dir", "path=.")
			host := home.Command(home.Program, "call", c.tool, c.argument)
			if err := host.Start(); err != nil {
				t.Fatal(err)
			}
			hosttest.WaitUntil(t, "the command has an effect", func() bool {
				_, err := os.Stat(filepath.Join(home.Workspace, "begun"))
				return err == nil
			})
			if err := host.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = host.Wait()
			expect(t, home, clitest.ExitOK, []string{"1 call without an end", "shell.exec", "touch begun"}, "audit", "verify")
			out := expect(t, home, clitest.ExitOK, []string{`"state":"begun"`, "touch begun", `"decision":"allow"`}, "audit", "--limit", "1",
				"--output", "json")
			if strings.Contains(out, "hunter2") {
				t.Errorf("the secret is in the log: %s", out)
			}
			expect(t, home, clitest.ExitOK, []string{"list_dir", "began, no end"}, "audit")
			expect(t, home, clitest.ExitOK, []string{"began, no end"}, "audit", "--limit", "0", "--tool", "exec")
			expect(t, home, clitest.ExitOK, nil, "call", "list_dir", "path=.")
			if out := expect(t, home, clitest.ExitOK, nil, "audit", "stats"); strings.Count(out, "list_dir") != 1 {
				t.Error(out)
			}
		})
	}
}

func TestEveryEffectHasBeginBeforeEnd(t *testing.T) {
	t.Parallel()
	home := clitest.NewHome(t)
	for _, call := range [][]string{{"write_file", "path=a", "content=x"}, {"read_file", "path=missing"}, {"exec", "command=true"},
		{"exec", "command=rm -rf /"}} {
		home.Run(t, append([]string{"call"}, call...)...)
	}
	text, err := os.ReadFile(filepath.Join(home.Dir, "logs", "audit.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if len(lines) != 7 {
		t.Fatalf("%d entries, want two for each of three calls and one for a refused one:\n%s", len(lines), text)
	}
	for i := 0; i < 6; i += 2 {
		_, call, _ := strings.Cut(lines[i], `,"call":"`)
		call, _, _ = strings.Cut(call, `"`)
		if call == "" || !strings.Contains(lines[i], `"state":"begun"`) || !strings.Contains(lines[i+1], `"call":"`+call+`","chain"`) {
			t.Errorf("begin %s\nend %s", lines[i], lines[i+1])
		}
	}
}
