package isolation

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// modes are the two ways of starting that have to behave alike.
var modes = map[string]bool{"plain": false, "sandbox": true}

func TestExitCodes(t *testing.T) {
	for name, enabled := range modes {
		t.Run(name, func(t *testing.T) {
			i := configured(t, Config{Enabled: enabled})
			for _, code := range []string{"0", "1", "3", "255"} {
				r := outcome(t, i, child("exit", code), Profile{Name: "test"})
				if r.err != nil || r.exit.String() != "exit status "+code {
					t.Errorf("exit %s: got %v, %v, stderr %s", code, r.exit, r.err, r.stderr)
				}
			}
			r := outcome(t, i, shell("kill -9 $$"), Profile{Exec: true})
			if r.exit.Code != 128+9 {
				t.Errorf("killed: got %v %s", r.exit, r.stderr)
			}
		})
	}
}

func TestChildGetsOnlyGivenEnvironment(t *testing.T) {
	t.Setenv("PICOCLAW_TEST_SECRET", "hunter2")
	for name, enabled := range modes {
		t.Run(name, func(t *testing.T) {
			i := configured(t, Config{Enabled: enabled})
			bare := outcome(t, i, child("env"), Profile{})
			for line := range strings.Lines(bare.stdout) {
				if line = strings.TrimSpace(line); line != "" && line != "PWD=/" {
					t.Errorf("an empty environment holds %q", line)
				}
			}
			cmd := child("env")
			cmd.Env = []string{"A=1", "B=two words", "A=2"}
			given := outcome(t, i, cmd, Profile{})
			if !strings.Contains(given.stdout, "A=2\n") || !strings.Contains(given.stdout, "B=two words\n") ||
				strings.Contains(given.stdout, "hunter2") {
				t.Errorf("got %q, stderr %q", given.stdout, given.stderr)
			}
		})
	}
}

func TestChildGetsOnlyGivenDescriptors(t *testing.T) {
	for name, enabled := range modes {
		t.Run(name, func(t *testing.T) {
			leaked := inheritable(t, "/etc/passwd")
			i := configured(t, Config{Enabled: enabled})
			_ = leaked
			extra, err := os.Open("/etc/hostname")
			if err != nil {
				t.Fatal(err)
			}
			defer extra.Close()
			cmd := child("fds")
			cmd.ExtraFiles = append(cmd.ExtraFiles, extra)
			r := outcome(t, i, cmd, Profile{})
			if r.stdout != "0\n1\n2\n3\n" {
				t.Errorf("descriptors %q, stderr %q", r.stdout, r.stderr)
			}
		})
	}
}

func TestStandardStreamsMustBeFiles(t *testing.T) {
	i := configured(t, Config{})
	cmd := child("env")
	cmd.Stdout = new(strings.Builder)
	if _, err := i.Start(cmd, Profile{}); err == nil || !strings.Contains(err.Error(), "Stdout is a *strings.Builder") {
		t.Errorf("got %v", err)
	}
}

func TestWorkingDirectory(t *testing.T) {
	for name, enabled := range modes {
		t.Run(name, func(t *testing.T) {
			work := realTemp(t)
			i := configured(t, Config{Enabled: enabled})
			cmd := child("where")
			cmd.Dir = work
			r := outcome(t, i, cmd, Profile{ReadWrite: []string{work}})
			if strings.TrimSpace(r.stdout) != work {
				t.Errorf("got %q, want %q, stderr %q", r.stdout, work, r.stderr)
			}
		})
	}
	i := configured(t, Config{Enabled: true})
	cmd := child("where")
	cmd.Dir = realTemp(t)
	var wrong *ProfileError
	if _, err := i.Start(cmd, Profile{}); !errors.As(err, &wrong) {
		t.Errorf("a directory outside the view: got %v", err)
	}
}

func TestServerInSandbox(t *testing.T) {
	for name, enabled := range modes {
		t.Run(name, func(t *testing.T) {
			i := configured(t, Config{Enabled: enabled})
			sockets := realTemp(t)
			stdin, keep := pipe(t)
			out, stdout := pipe(t)
			cmd := child("serve", filepath.Join(sockets, "s"))
			cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, os.Stderr
			proc, err := i.Start(cmd, Profile{Name: "server", ReadWrite: []string{sockets}})
			if err != nil {
				t.Fatal(err)
			}
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "listening\n" {
				t.Fatalf("said %q, %v", line, err)
			}
			if got := ask(t, filepath.Join(sockets, "s"), "hello"); got != "hello" {
				t.Errorf("answered %q", got)
			}
			keep.Close()
			if exit, err := wait(t, proc); !exit.Success() || err != nil {
				t.Errorf("ended with %v, %v", exit, err)
			}
		})
	}
}

func TestRun(t *testing.T) {
	i := configured(t, Config{Enabled: true})
	if err := i.Run(t.Context(), child("exit", "0"), Profile{}); err != nil {
		t.Error(err)
	}
	var failed *ExitError
	if err := i.Run(t.Context(), child("exit", "4"), Profile{}); !errors.As(err, &failed) || failed.Exit.Code != 4 {
		t.Errorf("got %v", err)
	}
}

func TestStartAfterClose(t *testing.T) {
	i := configured(t, Config{})
	i.Close()
	if _, err := i.Start(child("env"), Profile{}); !errors.Is(err, ErrClosed) {
		t.Errorf("got %v", err)
	}
}
