package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/schema"
)

// BuiltinPlugin is a group of tools that the host serves itself, such as spawn. Policy, guard and audit log apply to
// their calls as to a plugin's.
type BuiltinPlugin struct {
	ID    string
	Doc   string // one sentence
	Tools []BuiltinTool
	// OfferedTo reports whether an agent gets the plugin; nil offers it to all agents.
	OfferedTo func(agent string) bool
}

// BuiltinTool is a tool of a [BuiltinPlugin].
type BuiltinTool struct {
	Spec *pluginpb.ToolSpec
	// Call runs the tool for a session. The arguments fit the schema and passed the guard. It must return soon after
	// ctx is done; nothing else limits its time.
	Call func(ctx context.Context, s *Session, arguments json.RawMessage, events func(CallEvent)) *Result
}

// NewBuiltinTool returns a tool whose schema is inferred from the struct In, as for a plugin's tool; see
// [github.com/picoclaw/picoclaw/sdk.NewTool]. An error that is or wraps an [Error] keeps its code and hint.
func NewBuiltinTool[In any](name, doc string, call func(ctx context.Context, s *Session, in In) (string, error)) (BuiltinTool,
	error) {
	input, err := schema.InferInput(reflect.TypeFor[In]())
	if err != nil {
		return BuiltinTool{}, fmt.Errorf("tool %s: %w", name, err)
	}
	run := func(ctx context.Context, s *Session, arguments json.RawMessage, _ func(CallEvent)) *Result {
		var in In
		if err := json.Unmarshal(arguments, &in); err != nil {
			return &Result{Err: &Error{Code: pluginpb.CodeInvalidArgument, Message: err.Error()}}
		}
		text, err := call(ctx, s, in)
		result := &Result{Text: text, Answered: true}
		if own := (*Error)(nil); errors.As(err, &own) {
			result.Err = &Error{Code: own.Code, Message: err.Error(), Rule: own.Rule, Hint: own.Hint}
		} else if err != nil {
			result.Err = &Error{Code: pluginpb.CodeFailed, Message: err.Error()}
		}
		return result
	}
	return BuiltinTool{Spec: &pluginpb.ToolSpec{Name: name, Doc: doc, Input: input}, Call: run}, nil
}

func builtinManifests(own []BuiltinPlugin) []*pluginpb.Manifest {
	var all []*pluginpb.Manifest
	for _, p := range own {
		m := &pluginpb.Manifest{ID: p.ID, Doc: p.Doc}
		for _, t := range p.Tools {
			m.Tools = append(m.Tools, *t.Spec)
		}
		all = append(all, m)
	}
	return all
}

// isToolOfferedTo reports whether an agent gets a built-in tool. Tools of installed plugins are always offered.
func (h *Host) isToolOfferedTo(t *catalog.Tool, agent string) bool {
	if t.Plugin.Kind != catalog.BuiltinPlugin {
		return true
	}
	for _, p := range h.options.Builtin {
		if p.ID == t.Plugin.Manifest.ID {
			return p.OfferedTo == nil || p.OfferedTo(agent)
		}
	}
	return false
}

// findBuiltinTool returns the built-in tool; nil for a plugin's tool.
func (h *Host) findBuiltinTool(t *catalog.Tool) *BuiltinTool {
	if t.Plugin.Kind != catalog.BuiltinPlugin {
		return nil
	}
	for i := range h.options.Builtin {
		for j := range h.options.Builtin[i].Tools {
			if one := &h.options.Builtin[i].Tools[j]; h.options.Builtin[i].ID == t.Plugin.Manifest.ID && one.Spec.Name == t.Spec.Name {
				return one
			}
		}
	}
	return nil
}
