package clitest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// AskRuleEnv is an environment variable with a guard rule: `touch made` needs approval.
const AskRuleEnv = `PICOCLAW_TOOLS_EXEC_RULES=[{"id": "make-it", "programs": "touch", "verb": "made", "decision": "ask", ` +
	`"why": "makes it", "hit": ["touch made"], "miss": ["touch a"]}]`

// Exit codes of picoclaw.
const (
	ExitOK = iota
	ExitFailed
	ExitUsage
	ExitStart
)

// Home is a PICOCLAW_HOME with a workspace below it. Isolation is off.
type Home struct {
	Dir, Workspace string
	Program        string // started by Start
}

// NewHome creates a home in a temporary directory that the test removes.
func NewHome(t *testing.T) Home {
	t.Helper()
	home := hosttest.TempDir(t)
	workspace := filepath.Join(home, "workspace")
	if err := os.Mkdir(workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	return Home{home, workspace, hosttest.ProgramPath("bin/picoclaw")}
}

// Env returns the complete environment for programs of the home.
func (i Home) Env() map[string]string {
	rules, rule, _ := strings.Cut(AskRuleEnv, "=")
	return map[string]string{"HOME": i.Dir, "PICOCLAW_HOME": i.Dir, "PICOCLAW_ISOLATION_ENABLED": "false",
		"PATH": "/usr/bin:/bin", rules: rule}
}

// Command returns a command with the environment of the home.
func (i Home) Command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	for name, value := range i.Env() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// WriteConfig replaces the configuration file.
func (i Home) WriteConfig(t *testing.T, text string) {
	t.Helper()
	file := filepath.Join(i.Dir, "config.json")
	if err := os.WriteFile(file+".new", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(file+".new", file); err != nil {
		t.Fatal(err)
	}
}

// Run runs picoclaw and returns its combined output and exit code.
func (i Home) Run(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	cmd := i.Command(hosttest.ProgramPath("bin/picoclaw"), args...)
	text, err := cmd.CombinedOutput()
	if err != nil && cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(text), cmd.ProcessState.ExitCode()
}
