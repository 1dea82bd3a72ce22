package clitest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// RunScripts runs the scripts in testdata/script. Each has its own home, a workspace in it ($W), a secret outside
// ($O), and picoclaw on its PATH. setup, which may be nil, changes the environment.
func RunScripts(t *testing.T, setup func(env *testscript.Env)) {
	dir := filepath.Join("testdata", "script")
	sandboxed := usesIsolation(t, dir)
	testscript.Run(t, testscript.Params{
		Dir: dir,
		Setup: func(env *testscript.Env) error {
			home, err := filepath.EvalSymlinks(env.WorkDir)
			if err != nil {
				return err
			}
			bin, workspace := hosttest.ProgramPath("bin"), filepath.Join(home, ".picoclaw", "workspace")
			env.Setenv("HOME", home)
			env.Setenv("PICOCLAW_HOME", filepath.Join(home, ".picoclaw"))
			env.Setenv("W", workspace)
			env.Setenv("O", filepath.Join(home, "secret.txt"))
			env.Setenv("UID", strconv.Itoa(os.Getuid()))
			env.Setenv("BIN", bin)
			env.Setenv("PATH", bin+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
			if setup != nil {
				setup(env)
			}
			if err := os.MkdirAll(workspace, 0o700); err != nil {
				return err
			}
			if sandboxed {
				if err := copySandboxCache(filepath.Join(home, ".picoclaw")); err != nil {
					return err
				}
			}
			return os.WriteFile(filepath.Join(home, "secret.txt"), []byte("a secret\n"), 0o600)
		},
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("unknown condition %q", name)
			}
			return os.Getuid() == 0, nil
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){"exits": execAndCheckExitCode},
	})
}

// usesIsolation reports whether a script in a directory enables isolation.
func usesIsolation(t *testing.T, dir string) bool {
	t.Helper()
	scripts, err := filepath.Glob(filepath.Join(dir, "*.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(scripts, func(script string) bool {
		text, err := os.ReadFile(script)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Contains(string(text), "PICOCLAW_ISOLATION_ENABLED=true")
	})
}

// execAndCheckExitCode implements the script command `exits CODE COMMAND`, which compares an exit code.
func execAndCheckExitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG ...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = strconv.Itoa(exit.ExitCode())
	case err != nil:
		code = err.Error()
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, not %s", code, args[0])
	}
}
