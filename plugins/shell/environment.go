package main

import (
	"os"
	"slices"

	"github.com/picoclaw/picoclaw/sdk/exec"
)

// noEditor is a command that fails in place of an editor, which would wait for keys until the timeout.
const noEditor = `sh -c 'echo "there is no terminal for an editor: give the text as an argument (git commit -m), or set pty" >&2; exit 1'`

// noTerminal are variables of commands without a terminal. EDITOR leaves git's core.editor in force.
var noTerminal = []string{
	"TERM=dumb", "PAGER=cat", "GIT_TERMINAL_PROMPT=0", "DEBIAN_FRONTEND=noninteractive", "EDITOR=" + noEditor,
}

// commandEnvironment returns the environment of a command. The operator's variables win over the defaults for commands
// with or without a terminal, and the call's over both.
func commandEnvironment(settings exec.Settings, call map[string]string, visible []string, terminal bool) []string {
	defaults := noTerminal
	if terminal {
		defaults = nil
		if term := os.Getenv("TERM"); term == "" || term == "dumb" { // a service's
			defaults = []string{"TERM=xterm-256color"}
		}
	}
	if settings.Sandboxed && os.Getuid() == 0 { // root of a sandbox gives files to nobody
		defaults = append(slices.Clone(defaults), "TAR_OPTIONS=--no-same-owner")
	}
	return exec.Environment(slices.Concat(defaults, settings.Env), call, visible)
}
