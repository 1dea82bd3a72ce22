package sdk

import (
	"encoding/json"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/internal/limits"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Request is one call of a tool.
type Request[In any] struct {
	// Args are the call's arguments. The host has validated them against the tool's schema.
	Args In

	// Environment is what the plugin may do; the same for all calls of this process.
	Environment

	emit emit
}

// Environment is what all calls of one plugin process share.
type Environment struct {
	// Workspace is the agent's files: everything that the policy allows, and nothing else, whatever races. It is never nil:
	// without the workspace grant every use of it is refused.
	Workspace *workspace.Workspace
	// Guard decides on paths and commands from the same policy as the host's.
	Guard *guard.Guard
	// Grants is what the plugin really has.
	Grants Grants
	// Exec holds the operator's settings for commands; of use to plugins with the exec grant.
	Exec ExecSettings
	// StateDir is a directory of the plugin's own for the agent that it serves, for what is to be there in the next run
	// too; empty unless the plugin is granted state.
	StateDir string
	// Config is the operator's configuration of this plugin, a JSON object; nil when there is none. [ConfigOf] has it typed.
	Config json.RawMessage
	// Logger writes to the host's log.
	Logger hclog.Logger

	settings any // what [ConfigOf] returns
}

// ExecSettings are the operator's settings for commands that a plugin runs for an agent.
type ExecSettings struct {
	Timeout time.Duration // how long a command may run unless the call asks for less
	Env     []string      // NAME=value pairs for every command
	// Confine says that commands are held by the kernel to ReadOnly and ReadWrite, absolute paths, and to what the
	// system needs in order to run programs.
	Confine             bool
	ReadOnly, ReadWrite []string
	// Unwalled says that nothing but the guard stands between a command and this machine.
	Unwalled bool
	Limits   ExecLimits
}

// ExecLimits bound one command with all that it starts: Processes, Memory in bytes, CPU time, FileSize in bytes, and
// OpenFiles of each process; a zero is no limit.
type ExecLimits = limits.Limits

// emit passes on what a call has to tell before its result; nil when nobody listens.
type emit func(event)

// event is a progress or output message.
type event struct {
	done, total float64
	message     string
	stderr      bool
	output      []byte
}

// Progress tells the caller how far the call is, in any unit; total is 0 when it is not known. It may be called from
// several goroutines.
func (r *Request[In]) Progress(done, total float64, message string) {
	if r.emit != nil {
		r.emit(event{done: done, total: total, message: message})
	}
}

// Stdout passes on a piece of what a long-running tool prints, as it comes. It may be called from several goroutines,
// and blocks while the host is slow to read.
func (r *Request[In]) Stdout(data []byte) { r.output(data, false) }

// Stderr is like [Request.Stdout] for the error stream.
func (r *Request[In]) Stderr(data []byte) { r.output(data, true) }

func (r *Request[In]) output(data []byte, stderr bool) {
	if r.emit != nil && len(data) > 0 {
		r.emit(event{output: data, stderr: stderr})
	}
}
