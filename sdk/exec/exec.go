// Package exec is what a plugin that is granted to start programs is told about them by the operator:
// [github.com/picoclaw/picoclaw/sdk.Environment] has it. It must not know how programs are started.
package exec

import (
	"time"

	"github.com/picoclaw/picoclaw/internal/limits"
)

// Settings are the operator's settings for commands that a plugin runs for an agent.
type Settings struct {
	Timeout time.Duration // how long a command may run unless the call asks for less
	Env     []string      // NAME=value pairs for every command
	// Confine says that commands are held by the kernel to ReadOnly and ReadWrite, absolute paths, and to what the
	// system needs in order to run programs.
	Confine             bool
	ReadOnly, ReadWrite []string
	// Unwalled says that nothing but the guard stands between a command and this machine.
	Unwalled bool
	Limits   Limits
}

// Limits bound one command with all that it starts: Processes, Memory in bytes, CPU time, FileSize in bytes, and
// OpenFiles of each process; a zero is no limit.
type Limits = limits.Limits
