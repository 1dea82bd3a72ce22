package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"reflect"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Request is one call of a tool, with its arguments and environment.
type Request[In any] struct {
	// Args are the call's arguments. The host has validated them against the tool's schema.
	Args In

	// Environment is what the plugin may do; the same for all calls of this process.
	Environment

	call *serve.ToolCall
}

// Environment is the permissions, files and settings of a plugin process. All its calls share it.
type Environment struct {
	// Workspace gives access to the files that the policy allows and no others, even during races. It is never nil:
	// without the workspace grant it refuses every access.
	Workspace *workspace.Workspace
	// Guard decides on paths and commands from the same policy as the host's.
	Guard *guard.Guard
	// Grants are the effective permissions.
	Grants Grants
	// Exec are the operator's settings for commands, for plugins with the exec grant.
	Exec exec.CommandSettings
	// StateDir is the plugin's own directory for this agent, for files to be kept between runs. It is empty without the
	// state grant.
	StateDir string
	// DataDir is the read-only directory "data" of the plugin's package; empty if the package has none.
	DataDir string
	// Takeback is the agent's undo store; zero without the takeback grant or if the operator disabled undo.
	Takeback undo.StoreOptions
	// Log writes to the host's log. Records from Info on also go to callers that ask for them.
	Log *slog.Logger

	config any // what [ConfigOf] returns
}

func (e *Environment) configValue() any { return e.config }

// ConfigOf returns the operator's configuration from a *[Request] or an *[Environment]. C is the type of
// [Plugin.Config]; ConfigOf panics for another type.
func ConfigOf[C any](from interface{ configValue() any }) C {
	config := from.configValue()
	c, ok := config.(C)
	if !ok {
		panic(fmt.Sprintf("ConfigOf is asked for a %s, and the plugin's Config is a %T", reflect.TypeFor[C](), config))
	}
	return c
}

// IsApproved reports whether a person approved this call.
func (r *Request[In]) IsApproved() bool { return r.call.Agreed }

// TraceContext returns the caller's W3C trace context, traceparent and tracestate, for requests to other services. Both
// are empty without tracing.
func (r *Request[In]) TraceContext() (parent, state string) {
	return r.call.TraceParent, r.call.TraceState
}

// ReportProgress reports progress in any unit; total is 0 if unknown. It may be called concurrently.
func (r *Request[In]) ReportProgress(done, total float64, message string) {
	r.call.Emit(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_Progress{
		Progress: &pluginpb.Progress{Done: done, Total: total, Message: toValidUTF8(message)},
	}})
}

// SendStdout sends output of a long-running tool to the caller, if the caller reads output. It is safe for concurrent
// use, and blocks while the host is slow.
func (r *Request[In]) SendStdout(data []byte) { r.sendOutput(data, pluginpb.Output_STREAM_STDOUT) }

// SendStderr is like [Request.SendStdout] for error output.
func (r *Request[In]) SendStderr(data []byte) { r.sendOutput(data, pluginpb.Output_STREAM_STDERR) }

// NotifyResourceChanged notifies subscribed clients that the contents of a resource of this plugin have changed.
func (r *Request[In]) NotifyResourceChanged(uri string) {
	r.call.Emit(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_ResourceChange{
		ResourceChange: &pluginpb.ResourceChange{Uri: toValidUTF8(uri)},
	}})
}

func (r *Request[In]) sendOutput(data []byte, stream pluginpb.Output_Stream) {
	if len(data) > 0 && !r.call.NoOutput {
		r.call.Emit(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_Output{
			Output: &pluginpb.Output{Stream: stream, Data: data},
		}})
	}
}

// Answer is a person's answer to a form, or a client's to another [Question].
type Answer struct {
	Action string          // "accept", "decline", or "cancel" if the form was closed
	Values json.RawMessage // with accept: the completed form as a JSON object, or the client's result
}

// Question is a form for a person, unless Sampling or Roots is set.
type Question struct {
	Name    string // identifies the question for the client; optional
	Message string
	Form    *jsonschema.Schema
	// Sampling are the parameters of MCP's sampling/createMessage, a request to the client's model. The operator allows
	// it with tools.sampling.
	Sampling any
	// Roots asks for the client's directories, as MCP's roots/list does. The operator allows it with tools.sampling.
	Roots bool
}

// Ask shows a form to the person behind the call and waits for the answer; the call's timeout is paused. The form is an
// object of strings, numbers, booleans or choices (enum), optionally with defaults; jsonschema.For makes one of a
// struct. Forms of one call are shown one after another. Without a person the error has the code [NobodyToAsk]. Never
// ask for a secret: clients may store the answer.
func (r *Request[In]) Ask(ctx context.Context, message string, form *jsonschema.Schema) (Answer, error) {
	answers, err := r.AskAll(ctx, Question{Message: message, Form: form})
	if err != nil {
		return Answer{}, err
	}
	return answers[0], nil
}

// AskAll is [Request.Ask] for several questions at once. The answers have the order of the questions.
func (r *Request[In]) AskAll(ctx context.Context, first Question, more ...Question) ([]Answer, error) {
	if r.call.Ask == nil {
		return nil, newNobodyToAskError("the caller of this tool can't ask a person")
	}
	question, err := first.toWire()
	if err != nil {
		return nil, err
	}
	for _, q := range more {
		also, wireErr := q.toWire()
		if wireErr != nil {
			return nil, wireErr
		}
		question.Also = append(question.Also, also)
	}
	answer, err := r.call.Ask(ctx, question)
	if err != nil {
		return nil, fmt.Errorf("wait for a person's answer: %w", err)
	}
	all := append([]*pluginpb.Answer{answer}, answer.GetAlso()...)
	if len(all) != len(more)+1 {
		return nil, newNobodyToAskError("this picoclaw answers only single questions")
	}
	answers := make([]Answer, len(all))
	for i, a := range all {
		if a.GetAction() == "" {
			return nil, newNobodyToAskError(a.GetError())
		}
		answers[i] = Answer{Action: a.GetAction(), Values: a.GetContent()}
	}
	return answers, nil
}

func (q Question) toWire() (*pluginpb.Question, error) {
	out := &pluginpb.Question{Message: toValidUTF8(q.Message), Name: toValidUTF8(q.Name)}
	var err error
	switch {
	case q.Roots:
		out.Kind = pluginpb.RootsQuestion
	case q.Sampling != nil:
		out.Kind = pluginpb.SamplingQuestion
		out.Params, err = json.Marshal(q.Sampling)
	default:
		out.Schema, err = json.Marshal(q.Form)
	}
	if err != nil {
		return nil, fmt.Errorf("the question can't be sent: %w", err)
	}
	return out, nil
}

func newNobodyToAskError(why string) *Error {
	return Errorf(NobodyToAsk, "no person can be asked: %s", why).
		WithHint("call the tool from an MCP client that has elicitation, or pass the answer as an argument")
}
