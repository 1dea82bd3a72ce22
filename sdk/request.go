package sdk

import (
	"fmt"
	"log/slog"
	"reflect"

	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Request is one call of a tool.
type Request[In any] struct {
	// Args are the call's arguments. The host has validated them against the tool's schema.
	Args In

	// Environment is what the plugin may do; the same for all calls of this process.
	Environment

	call *serve.ToolCall
}

// Environment is shared by all calls of a plugin process.
type Environment struct {
	// Workspace is the agent's files: everything that the policy allows, and nothing else, whatever races. It is
	// never nil: without the workspace grant every use of it is refused.
	Workspace *workspace.Workspace
	// Guard decides on paths and commands from the same policy as the host's.
	Guard *guard.Guard
	// Grants is what the plugin really has.
	Grants Grants
	// Exec holds the operator's settings for commands; of use to plugins with the exec grant.
	Exec exec.Settings
	// StateDir is a directory of the plugin's own for the agent that it serves, for what is to be there in the next run
	// too; empty unless the plugin is granted state.
	StateDir string
	// DataDir is the directory "data" of the plugin's package, which cannot be changed; empty if the package has none.
	DataDir string
	// Takeback is the store of what changes destroy, which undo takes them back from; zero without the grant takeback,
	// and where the operator has switched it off.
	Takeback undo.StoreOptions
	// Log writes to the host's log, and from info on to the caller's, if that asks for it.
	Log *slog.Logger

	config any // what [ConfigOf] returns
}

func (e *Environment) configValue() any { return e.config }

// ConfigOf returns the operator's configuration, from a *[Request] or an *[Environment]. C is the type of the plugin's
// [Plugin.Config]; like a type assertion it panics if it is another.
func ConfigOf[C any](from interface{ configValue() any }) C {
	config := from.configValue()
	c, ok := config.(C)
	if !ok {
		panic(fmt.Sprintf("ConfigOf is asked for a %s, and the plugin's Config is a %T", reflect.TypeFor[C](), config))
	}
	return c
}

// Agreed reports whether a person approved this call.
func (r *Request[In]) Agreed() bool { return r.call.Agreed }

// Trace returns the caller's trace position, as W3C's traceparent and tracestate, for requests to other services; empty
// without tracing.
func (r *Request[In]) Trace() (parent, state string) { return r.call.TraceParent, r.call.TraceState }

// Progress reports progress in any unit; total is 0 if unknown. It may be called concurrently.
func (r *Request[In]) Progress(done, total float64, message string) {
	r.call.Emit(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_Progress{
		Progress: &pluginpb.Progress{Done: done, Total: total, Message: validUTF8(message)},
	}})
}

// Stdout sends output of a long-running tool, if the caller reads it. It may be called concurrently, and blocks while the
// host is slow.
func (r *Request[In]) Stdout(data []byte) { r.sendOutput(data, pluginpb.Output_STREAM_STDOUT) }

// Stderr is like [Request.Stdout] for error output.
func (r *Request[In]) Stderr(data []byte) { r.sendOutput(data, pluginpb.Output_STREAM_STDERR) }

// ResourceChanged tells subscribed clients that a resource of this plugin has other contents.
func (r *Request[In]) ResourceChanged(uri string) {
	r.call.Emit(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_ResourceChange{
		ResourceChange: &pluginpb.ResourceChange{Uri: validUTF8(uri)},
	}})
}

func (r *Request[In]) sendOutput(data []byte, stream pluginpb.Output_Stream) {
	if len(data) > 0 && !r.call.NoOutput {
		r.call.Emit(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_Output{
			Output: &pluginpb.Output{Stream: stream, Data: data},
		}})
	}
}
