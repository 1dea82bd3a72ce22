package guard

import (
	"errors"
	"os"
)

// Dialect is the language of a command's text.
type Dialect string

// The dialects.
const (
	Bash       Dialect = ""           // bash --noprofile --norc -c
	POSIX      Dialect = "posix"      // sh -c; what it is differs between machines
	Cmd        Dialect = "cmd"        // cmd /c
	PowerShell Dialect = "powershell" // powershell -Command
)

// Shell is a program that runs commands: Path with Args and then the command's text.
type Shell struct {
	Path    string
	Args    []string
	Dialect Dialect
}

// shells are the shells that commands may be run with, the first that exists. A start-up file would change what a
// command means, so none is read.
var shells = []Shell{
	{Path: "/bin/bash", Args: []string{"--noprofile", "--norc", "-c"}, Dialect: Bash},
	{Path: "/usr/bin/bash", Args: []string{"--noprofile", "--norc", "-c"}, Dialect: Bash},
	{Path: "/usr/local/bin/bash", Args: []string{"--noprofile", "--norc", "-c"}, Dialect: Bash},
	{Path: "/bin/sh", Args: []string{"-c"}, Dialect: POSIX},
}

// MachineShell is the one shell that commands are run with on this machine. Who decides on a command and who runs it
// must both ask here, so that it is judged in the language that it runs in. It is never looked for on a PATH, which
// somebody else may have a say in.
func MachineShell() (Shell, error) {
	for _, s := range shells {
		if _, err := os.Stat(s.Path); err == nil {
			return s, nil
		}
	}
	return Shell{}, errors.New("this machine has neither bash nor /bin/sh; install one")
}
