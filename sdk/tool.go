package sdk

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"reflect"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Handler does the work of a tool. It is called concurrently. It must return soon after ctx is done: the caller has
// cancelled, or the call's time is over. An error that is or wraps an [Error] keeps its code and hint.
type Handler[In, Out any] func(ctx context.Context, req *Request[In]) (Out, error)

// Tool is a named operation of a plugin. Make it with [NewTool].
type Tool struct {
	spec pluginpb.Spec // but for the schemas

	// schemas infers the schemas, which takes longer than a plugin's start should.
	schemas func(*pluginpb.Spec) error

	run func(ctx context.Context, call *call) (*answer, error)
}

// call is one call on its way to a handler.
type call struct {
	arguments   []byte // canonical JSON, validated
	environment *Environment
	emit        emit
}

// answer is what a handler's result looks like on the wire.
type answer struct {
	text       string
	structured json.RawMessage
	// textIsStructured says that the agent reads the structured result.
	textIsStructured bool
	media            []byte
	mediaType        string
}

// NewTool makes a tool of a handler. The schema of its arguments is inferred from In, a struct: every exported field
// is a property, named by its `json` tag and optional with `omitempty` or `omitzero`, described by its `jsonschema`
// tag. Besides:
//
//   - `claim:"read"` (or write, list, delete, command) tells the host what a string field names;
//   - `enum:"a,b"` lists the only values;
//   - `default:"10"` documents the value that an absent field stands for;
//   - `minimum:"1"` and `maximum:"100"` bound a number.
//
// Out may be a string, which the agent reads as it is; or a type with a method Text() string, which the agent reads as
// that text and programs as JSON; or any other struct, which both read as JSON. Its schema is published too.
func NewTool[In, Out any](name, doc string, handler Handler[In, Out], options ...ToolOption) Tool {
	t := Tool{spec: pluginpb.Spec{Name: name, Doc: doc}}
	t.schemas = func(s *pluginpb.Spec) (err error) {
		if s.Input, err = inputSchema[In](); err == nil {
			s.Output, err = outputSchema[Out]()
		}
		return err
	}
	for _, option := range options {
		option(&t.spec)
	}
	t.run = func(ctx context.Context, call *call) (*answer, error) {
		req := &Request[In]{Environment: *call.environment, emit: call.emit}
		if err := json.Unmarshal(call.arguments, &req.Args); err != nil {
			return nil, Errorf(InvalidArgument, "the arguments of %s do not fit: %v", name, err)
		}
		out, err := handler(ctx, req)
		if err != nil && reflect.ValueOf(&out).Elem().IsZero() {
			return nil, err
		}
		ans, encodeErr := encode(out)
		if err == nil && encodeErr != nil {
			return nil, fmt.Errorf("the result of %s can't be sent: %w", name, encodeErr)
		}
		return ans, err // what a failed handler did return goes along with its error
	}
	return t
}

// texter is implemented by results that have a form for people.
type texter interface{ Text() string }

// viewable is implemented by results that have something to look at or listen to.
type viewable interface {
	Media() (mediaType string, data []byte)
}

func encode(out any) (*answer, error) {
	if s, ok := out.(string); ok {
		return &answer{text: s}, nil
	}
	var data bytes.Buffer
	e := json.NewEncoder(&data)
	e.SetEscapeHTML(false) // agents read it as it stands: a < has to be one
	if err := e.Encode(out); err != nil {
		return nil, err
	}
	ans := &answer{structured: bytes.TrimSuffix(data.Bytes(), []byte{'\n'})}
	if t, ok := out.(texter); ok {
		ans.text = t.Text()
	} else {
		ans.textIsStructured = true
	}
	if m, ok := out.(viewable); ok {
		ans.mediaType, ans.media = m.Media()
	}
	return ans, nil
}

// ToolOption says more about a tool.
type ToolOption func(*pluginpb.Spec)

// ReadOnly says that the tool changes nothing.
func ReadOnly() ToolOption {
	return func(s *pluginpb.Spec) { s.ReadOnly = true; s.Idempotent = true }
}

// Destructive says that the tool can remove or overwrite what was there.
func Destructive() ToolOption { return func(s *pluginpb.Spec) { s.Destructive = true } }

// Idempotent says that doing the same call twice leaves what doing it once does.
func Idempotent() ToolOption { return func(s *pluginpb.Spec) { s.Idempotent = true } }

// OpenWorld says that the tool reaches things outside the machine.
func OpenWorld() ToolOption { return func(s *pluginpb.Spec) { s.OpenWorld = true } }

// Sets names the vocabularies that the tool belongs to. An operator chooses one with tools.set; a tool in none is
// offered in all.
func Sets(names ...string) ToolOption { return func(s *pluginpb.Spec) { s.Sets = names } }

// TextResult says that the text is the result and that the structured form tells about it: agents read the text, and what
// it does not say travels beside it. Without this option an MCP client is sent both.
func TextResult() ToolOption { return func(s *pluginpb.Spec) { s.TextResult = true } }

// Permissions names the permissions that the tool uses, such as "fs.read".
func Permissions(names ...string) ToolOption {
	return func(s *pluginpb.Spec) { s.Permissions = names }
}

// Risk says how much harm a wrong call can do: "low", "medium" or "high". Operators are shown it before they install the
// plugin; it decides nothing.
func Risk(level string) ToolOption { return func(s *pluginpb.Spec) { s.Risk = level } }

// SideEffects names what the tool changes, such as "filesystem_write".
func SideEffects(names ...string) ToolOption {
	return func(s *pluginpb.Spec) { s.SideEffects = names }
}
