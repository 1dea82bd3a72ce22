// Package exec is what a plugin that is granted to start programs is told about them by the operator:
// [github.com/picoclaw/picoclaw/sdk.Environment] has it. It must not know how programs are started.
package exec

import "time"

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

// Limits bound one command with all that it starts; a zero is no limit.
type Limits struct {
	Processes int           // processes and threads
	Memory    int64         // bytes
	CPU       time.Duration // processor time
	FileSize  int64         // bytes of one file
	OpenFiles int           // descriptors of one process
}
