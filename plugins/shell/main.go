// Command shell is the plugin that runs commands for an agent.
//
// It must not decide which commands may run: the host's guard does, and the sandbox around this process and its
// commands limits the effects of wrong decisions. Package isolation starts each command, confines it, and ends all
// its processes.
//
// A long output is stored completely in .picoclaw/output in the workspace, which every agent may read. The number,
// size and age of these files are limited.
//
// A command with an exit status other than 0 is a tool error with the code exit_status and the output in the result.
package main

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/isolation"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/exec"
)

// version is set when a release is built.
var version = "0.1.0"

func main() {
	launcher, err := isolation.NewStarter(isolation.Config{}, hclog.NewNullLogger())
	if err != nil {
		fmt.Fprintln(os.Stderr, "shell:", err)
		os.Exit(1)
	}
	sdk.Main(newPlugin(&shellPlugin{launcher: launcher, holdSelf: func(p isolation.Profile) error {
		return errors.Join(isolation.LimitSelf(p.Limits), launcher.ApplyChildFilterToSelf(p))
	}}))
}

// newPlugin returns the plugin with its tools.
func newPlugin(s *shellPlugin) sdk.Plugin {
	return sdk.Plugin{
		ID:      "shell",
		Version: version,
		Doc:     "Runs commands in the workspace.",
		Grants: sdk.Grants{Workspace: sdk.WorkspaceAccess, Exec: true, Network: true, Takeback: true,
			Secrets: []string{"*"}},
		Tools: []sdk.Tool{s.newExecTool(), s.newProcessTool()},
		Stop:  s.shutdown,
		Busy:  func() bool { return len(s.sessions.ListSessions()) > 0 }, // one that is over may still be asked for its output
	}
}

// failingEditor is a command that fails in place of an editor. An editor would wait for keys until the timeout.
const failingEditor = `sh -c 'echo "there is no terminal for an editor: give the text as an argument (git commit -m), or set pty" >&2; exit 1'`

// noTerminalVariables are variables for commands without a terminal. git's core.editor overrides EDITOR.
var noTerminalVariables = []string{
	"TERM=dumb", "PAGER=cat", "GIT_TERMINAL_PROMPT=0", "DEBIAN_FRONTEND=noninteractive", "EDITOR=" + failingEditor,
}

// commandEnvironment returns the environment of a command: defaults, then the operator's variables, then the call's.
func commandEnvironment(settings exec.CommandSettings, call map[string]string, visible []string, terminal bool) []string {
	defaults := noTerminalVariables
	if terminal {
		defaults = nil
		if term := os.Getenv("TERM"); term == "" || term == "dumb" { // a service's
			defaults = []string{"TERM=xterm-256color"}
		}
	}
	if settings.Sandboxed && os.Getuid() == 0 { // root of a sandbox gives files to nobody
		defaults = append(slices.Clone(defaults), "TAR_OPTIONS=--no-same-owner")
	}
	return exec.BuildEnvironment(slices.Concat(defaults, settings.Env), call, visible)
}
