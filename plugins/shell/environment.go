package main

import (
	"os"
	"slices"

	"github.com/picoclaw/picoclaw/sdk/exec"
)

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
