// Package bench has benchmarks of picoclaw as a whole program, with its plugins beside it as `make build` makes them.
package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if built != "" {
		_ = os.RemoveAll(built)
	}
	os.Exit(code)
}

var built string // the directory with the programs, once a benchmark needs them

// programs builds picoclaw, its plugins and the SDK's server.
var programs = sync.OnceValues(func() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "picoclaw-bench"); err != nil {
		return "", err
	}
	built = dir
	for program, pkg := range map[string]string{
		"picoclaw":                      "../..",
		"plugins/filesystem/filesystem": "../../../../plugins/filesystem",
		"plugins/grep/grep":             "../../../../plugins/grep",
		"plugins/shell/shell":           "../../../../plugins/shell",
		"plugins/mcp/mcp":               "../../../../plugins/mcp",
		"sdkserver":                     "./testdata/sdkserver",
	} {
		if err := hosttest.BuildProgram(filepath.Join(dir, program), pkg); err != nil {
			return "", err
		}
	}
	return dir, hosttest.WriteManifests(dir, "plugins/filesystem", "plugins/grep", "plugins/shell")
})

// program returns the path of a program that [programs] has built.
func program(b *testing.B, name string) string {
	b.Helper()
	dir, err := programs()
	if err != nil {
		b.Fatal(err)
	}
	return filepath.Join(dir, name)
}

// installation is picoclaw with a home. It is not below /tmp, of which a sandbox has its own.
type installation struct {
	home, workspace string
	env             []string
}

func newInstallation(b *testing.B, variables ...string) *installation {
	b.Helper()
	home, err := os.MkdirTemp("/var/tmp", "picoclaw-bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(home) })
	i := &installation{home: home, workspace: filepath.Join(home, "workspace"), env: append(variables, "HOME="+home,
		"PICOCLAW_HOME="+home, "PATH=/usr/bin:/bin", "PICOCLAW_ISOLATION_ENABLED=true")}
	if err := os.Mkdir(i.workspace, 0o700); err != nil {
		b.Fatal(err)
	}
	i.write(b, "workspace/1k", strings.Repeat("0123456789abcde\n", 64))
	i.write(b, "workspace/1m", strings.Repeat("0123456789abcde\n", 64<<10))
	return i
}

// write writes a file in the home.
func (i *installation) write(b *testing.B, name, text string) {
	b.Helper()
	if err := os.WriteFile(filepath.Join(i.home, name), []byte(text), 0o600); err != nil {
		b.Fatal(err)
	}
}

// run runs picoclaw.
func (i *installation) run(picoclaw string, args ...string) error {
	cmd := exec.Command(picoclaw, args...)
	cmd.Env = i.env
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(args, " "), err, out)
	}
	return nil
}

// server is picoclaw as an MCP server on standard input and output.
func (i *installation) server(b *testing.B) *server {
	return &server{tool: "read_file", argv: []string{program(b, "picoclaw"), "mcp"}, env: i.env, stderr: os.Stderr}
}

// connect starts picoclaw as an MCP server, which ends with the benchmark.
func (i *installation) connect(b *testing.B) *client {
	b.Helper()
	return connect(b, i.server(b))
}

func connect(b *testing.B, s *server) *client {
	b.Helper()
	c, err := s.start()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.close() })
	return c
}

var errAnswer = errors.New("the server does not answer as expected")
