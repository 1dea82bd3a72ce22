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

// BuiltinPlugin is a family of tools that the host's program offers in its own process, such as those with which an agent
// has others work. They are called as any plugin's: decided by their claims, switched by the policy, and recorded.
type BuiltinPlugin struct {
	ID    string
	Doc   string // one sentence
	Tools []BuiltinTool
	// Offered reports whether an agent has it at all; nil for all agents.
	Offered func(agent string) bool
}

// BuiltinTool is one of its tools.
type BuiltinTool struct {
	Spec *pluginpb.Spec
	// Call makes a call for a session. The arguments fit the schema and have been decided on. It ends soon after ctx is
	// done, and nothing else bounds its time.
	Call func(ctx context.Context, s *Session, arguments json.RawMessage, events func(Event)) *Result
}

// NewBuiltinTool makes a tool whose schema is inferred from In, a struct, as that of a plugin's tool is; see
// [github.com/picoclaw/picoclaw/sdk.NewTool]. An error that is or wraps an [Error] keeps its code and hint.
func NewBuiltinTool[In any](name, doc string, call func(ctx context.Context, s *Session, in In) (string, error)) (BuiltinTool,
	error) {
	input, err := schema.InferInput(reflect.TypeFor[In]())
	if err != nil {
		return BuiltinTool{}, fmt.Errorf("tool %s: %w", name, err)
	}
	run := func(ctx context.Context, s *Session, arguments json.RawMessage, _ func(Event)) *Result {
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
	return BuiltinTool{Spec: &pluginpb.Spec{Name: name, Doc: doc, Input: input}, Call: run}, nil
}

// manifests are what the catalog knows of own plugins.
func manifests(own []BuiltinPlugin) []*pluginpb.Manifest {
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

// offered reports whether an agent has a tool, as far as the program that offers it is concerned.
func (h *Host) offered(t *catalog.Tool, agent string) bool {
	if t.Plugin.Kind != catalog.Builtin {
		return true
	}
	for _, p := range h.builtin {
		if p.ID == t.Plugin.Manifest.ID {
			return p.Offered == nil || p.Offered(agent)
		}
	}
	return false
}

// builtinTool returns the program's own tool; nil for one of a plugin's.
func (h *Host) builtinTool(t *catalog.Tool) *BuiltinTool {
	if t.Plugin.Kind != catalog.Builtin {
		return nil
	}
	for i := range h.builtin {
		for j := range h.builtin[i].Tools {
			if one := &h.builtin[i].Tools[j]; h.builtin[i].ID == t.Plugin.Manifest.ID && one.Spec.Name == t.Spec.Name {
				return one
			}
		}
	}
	return nil
}
