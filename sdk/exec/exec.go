// Package exec is what a plugin that is granted to start programs is told about them by the operator:
// [github.com/picoclaw/picoclaw/sdk.Environment] has it. It must not know how programs are started.
package exec

import (
	"time"

	"github.com/picoclaw/picoclaw/internal/limits"
)

// Settings are the operator's settings for commands that a plugin runs for an agent.
type Settings struct {
	Timeout time.Duration `json:"timeout_ns,omitempty"` // how long a command may run unless the call asks for less
	Env     []string      `json:"env,omitempty"`        // NAME=value pairs for every command
	// Confine says that commands are held by the kernel to ReadOnly and ReadWrite, absolute paths, and to what the
	// system needs in order to run programs.
	Confine   bool     `json:"confine,omitempty"`
	ReadOnly  []string `json:"read_only,omitempty"`
	ReadWrite []string `json:"read_write,omitempty"`
	// Unwalled says that nothing but the guard stands between a command and this machine.
	Unwalled bool   `json:"unwalled,omitempty"`
	Limits   Limits `json:"limits,omitzero"`
}

// Limits bound one command with all that it starts: Processes, Memory in bytes, CPU time, FileSize in bytes, and
// OpenFiles of each process; a zero is no limit.
type Limits = limits.Limits
