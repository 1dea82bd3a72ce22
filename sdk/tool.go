package sdk

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/picoclaw/picoclaw/sdk/internal/serve"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/schema"
)

// Tool is a named operation of a plugin, created by [NewTool].
type Tool = serve.Tool

// Traits describe the effects of a tool. The zero value promises nothing, so hosts and clients assume the worst.
type Traits struct {
	// ReadOnly says that the tool changes nothing.
	ReadOnly bool
	// Destructive says that the tool can delete or overwrite existing data.
	Destructive bool
	// Idempotent says that repeating a call has no further effect. It is implied by ReadOnly.
	Idempotent bool
	// OpenWorld says that the tool communicates with systems outside this machine.
	OpenWorld bool
	// LongRunning says that calls usually take longer than a minute. For clients with MCP's tasks, each is a task.
	LongRunning bool
	// Risk is the possible harm of a wrong call: "low", "medium" or "high". Permissions are resources that the tool
	// uses, such as "fs.read". SideEffects are what it changes, such as "filesystem_write". Operators see all three
	// before they install the plugin. They do not restrict the tool.
	Risk        string
	Permissions []string
	SideEffects []string
	// Sets are names of tool sets that contain the tool. The operator selects a set with tools.set. A tool without sets
	// is in all.
	Sets []string
	// TextResult says that the text is the complete result and the structured form only adds information. Agents then
	// read the text. Otherwise an MCP client receives both forms.
	TextResult bool
}

// NewTool returns a tool with a handler. The handler is called concurrently. It must return soon after ctx is done: the
// caller cancelled or the call timed out. An error that is or wraps an [Error] keeps its code and hint.
//
// The schema of the arguments is inferred from In, a struct. Every exported field is a property. Its `json` tag is the
// name, with `omitempty` or `omitzero` for an optional one. Its `jsonschema` tag is the description. Other tags are:
//
//   - `claim:"read"` (or write, list, delete, command): the role of a string field;
//   - `enum:"a,b"`: the allowed values;
//   - `default:"10"`: the value of an absent field, for documentation;
//   - `minimum:"1"` and `maximum:"100"`: the bounds of a number.
//
// Out may be a string, which is the text for the agent. It may be a struct, which agents and programs read as JSON; a
// method Text() string replaces the JSON for the agent. The schema of Out is published, too. A method Contents()
// []Content returns blocks besides the text, such as an image. Out may also be []Content itself. A method UndoID()
// string returns the id of the operation in the undo store that undoes the changes.
func NewTool[In, Out any](
	name, doc string, handler func(ctx context.Context, req *Request[In]) (Out, error), t Traits,
) Tool {
	spec := pluginpb.ToolSpec{
		Name: name, Doc: doc, Sets: t.Sets, Permissions: t.Permissions, Risk: t.Risk, SideEffects: t.SideEffects,
		ReadOnly: t.ReadOnly, Destructive: t.Destructive, Idempotent: t.Idempotent || t.ReadOnly,
		OpenWorld: t.OpenWorld, LongRunning: t.LongRunning, TextResult: t.TextResult,
	}
	schemas := func(s *pluginpb.ToolSpec) (err error) {
		if s.Input, err = schema.InferInput(reflect.TypeFor[In]()); err != nil {
			return err
		}
		if out := reflect.TypeFor[Out](); out != reflect.TypeFor[[]Content]() {
			s.Output, err = schema.InferOutput(out)
		}
		return err
	}
	return serve.NewTool(spec, schemas, newRunFunc(name, handler))
}

// NewSpecTool returns a tool whose specification is known only at run time, for example from another server. The host
// validates its JSON arguments against the specification's schema.
func NewSpecTool(
	spec pluginpb.ToolSpec, handler func(ctx context.Context, req *Request[json.RawMessage]) (Result, error),
) Tool {
	return serve.NewTool(spec, func(*pluginpb.ToolSpec) error { return nil }, newRunFunc(spec.Name, handler))
}

// newRunFunc converts a handler to a run function, which decodes arguments and encodes the result.
func newRunFunc[In, Out any](name string, handler func(context.Context, *Request[In]) (Out, error),
) func(context.Context, *serve.ToolCall) *pluginpb.Result {
	return func(ctx context.Context, call *serve.ToolCall) *pluginpb.Result {
		req := &Request[In]{Environment: newEnvironment(call), call: call}
		if err := json.Unmarshal(call.Arguments, &req.Args); err != nil {
			wrong := Errorf(InvalidArgument, "the arguments of %s do not fit: %v", name, err)
			return &pluginpb.Result{Error: toWireError(wrong)}
		}
		out, err := handler(ctx, req)
		if err != nil && reflect.ValueOf(&out).Elem().IsZero() {
			return &pluginpb.Result{Error: toWireError(err)}
		}
		result, encodeErr := encodeResult(out)
		if err == nil && encodeErr != nil {
			err = fmt.Errorf("the result of %s can't be sent: %w", name, encodeErr)
		}
		if err != nil {
			result.Error = toWireError(err) // a failed handler's partial result is sent with its error
		}
		return result
	}
}

func newEnvironment(e *serve.ToolCall) Environment {
	return Environment{
		Workspace: e.Workspace, Guard: e.Guard, Grants: Grants(e.Grants), Exec: e.Exec,
		StateDir: e.StateDir, DataDir: e.DataDir, Takeback: e.Takeback, Log: e.Log, config: e.Config,
	}
}

// Resource is data that clients read by its URI, created by [NewResource].
type Resource = serve.Tool

// Prompt is a list of messages that users of clients insert, created by [NewPrompt].
type Prompt = serve.Tool

// NewResource returns a resource with a URI, such as notes://today, or a template of URIs, such as notes://{name} or
// file:///{+path}. {name} matches a part without "/", {+name} any text. In is a struct with a string field for each
// variable; `claim:"read"` marks a path, as for [NewTool]. The host also treats the path of a file: URI as a path to
// read. The contents are Text or Data; MediaType and URI may be empty.
func NewResource[In any](
	name, uri, doc, mediaType string, read func(ctx context.Context, req *Request[In]) (Content, error),
) Resource {
	spec := pluginpb.ToolSpec{Name: name, Doc: doc, URI: uri, MediaType: mediaType, ReadOnly: true}
	return serve.NewTool(spec, inferInputSchema[In], newRunFunc(name, func(ctx context.Context, req *Request[In]) ([]Content, error) {
		content, err := read(ctx, req)
		if err != nil {
			return nil, err
		}
		return []Content{content}, nil
	}))
}

// NewPrompt returns a prompt. In is a struct with a string field for each argument, as for [NewTool]. An `enum:"a,b"`
// tag lets clients complete the argument. The contents are the messages in order.
func NewPrompt[In any](
	name, doc string, write func(ctx context.Context, req *Request[In]) ([]Content, error),
) Prompt {
	return serve.NewTool(pluginpb.ToolSpec{Name: name, Doc: doc, ReadOnly: true}, inferInputSchema[In], newRunFunc(name, write))
}

// inferInputSchema sets the input schema of a resource or prompt, inferred from In.
func inferInputSchema[In any](s *pluginpb.ToolSpec) (err error) {
	s.Input, err = schema.InferInput(reflect.TypeFor[In]())
	return err
}
