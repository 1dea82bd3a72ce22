//go:build linux

package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// TestMain builds picoclaw and its plugins as `make build` does. The tests run those, as root and unprivileged.
func TestMain(m *testing.M) {
	switch os.Getenv(oldKernel) {
	case "old":
		fmt.Fprintln(os.Stderr, withoutLandlock(os.Args[1:]))
		os.Exit(1)
	case "new":
		fmt.Fprintln(os.Stderr, unix.Exec(os.Args[1], os.Args[1:], os.Environ()))
		os.Exit(1)
	}
	os.Exit(hosttest.Main(m, map[string]string{
		"bin/picoclaw":                      ".",
		"bin/plugins/filesystem/filesystem": "../../plugins/filesystem",
		"bin/plugins/grep/grep":             "../../plugins/grep",
		"bin/plugins/shell/shell":           "../../plugins/shell",
		"bin/plugins/mcp/mcp":               "../../plugins/mcp",
		"hostile/hostile":                   "./testdata/hostile",
		"servers/malicious":                 "./testdata/maliciousserver",
		"servers/everything":                "github.com/modelcontextprotocol/go-sdk/examples/server/everything",
		"servers/memory":                    "github.com/modelcontextprotocol/go-sdk/examples/server/memory",
	}, prepare))
}

// prepare makes of the programs what users have: manifests beside the plugins, and a plugin of an author's.
func prepare(dir string) error {
	plugins := []string{"bin/plugins/filesystem", "bin/plugins/grep", "bin/plugins/shell", "hostile"}
	if err := hosttest.Describe(dir, plugins...); err != nil {
		return err
	}
	return errors.Join(author(dir), next(dir))
}

// Each script has a home of its own, a workspace in it ($W), a secret outside ($O), and picoclaw on its PATH.
func TestScripts(t *testing.T) {
	toolchain := findToolchain(t)
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			home, err := filepath.EvalSymlinks(env.WorkDir)
			if err != nil {
				return err
			}
			env.Setenv("HOME", home)
			env.Setenv("PICOCLAW_HOME", filepath.Join(home, ".picoclaw"))
			env.Setenv("W", filepath.Join(home, ".picoclaw", "workspace"))
			env.Setenv("O", filepath.Join(home, "secret.txt"))
			env.Setenv("UID", strconv.Itoa(os.Getuid()))
			env.Setenv("BIN", filepath.Join(hosttest.Dir(), "bin"))
			env.Setenv("PATH", filepath.Join(hosttest.Dir(),
				"bin")+":/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin")
			toolchain.give(env)
			if err := os.MkdirAll(filepath.Join(home, ".picoclaw", "workspace"), 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(home, "secret.txt"), []byte("a secret\n"), 0o600)
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "root":
				return os.Getuid() == 0, nil
			case "sources":
				return toolchain != nil, nil
			}
			return false, fmt.Errorf("unknown condition %q", name)
		},
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"exits": exits,
		},
	})
}

// exits runs a command and checks its exit code, which `! exec` does not: exits 3 picoclaw call …
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG ...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = exitCode(err)
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, not %s", code, args[0])
	}
}

func exitCode(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}
