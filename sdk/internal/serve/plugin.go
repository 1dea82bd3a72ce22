package serve

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"slices"

	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/schema"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Plugin is an author's plugin in the form that this package serves.
type Plugin struct {
	ID, Version, Doc string
	Grants           pluginpb.Grant
	Config           any // a struct with the defaults; nil if there is nothing to configure
	Tools            []Tool
	Resources        []Tool
	Prompts          []Tool
	FullNames        bool // tools are called by their full names alone
	Stop             func(ctx context.Context)
	Busy             func() bool // nil if nobody knows
}

// Tool is one tool of a plugin.
type Tool struct {
	spec    pluginpb.ToolSpec              // without the schemas
	schemas func(*pluginpb.ToolSpec) error // infers the schemas, which is too slow for a plugin's start
	run     func(context.Context, *ToolCall) *pluginpb.Result
}

// NewTool returns a tool with a specification, a function that infers its schemas, and a handler.
func NewTool(
	spec pluginpb.ToolSpec, schemas func(*pluginpb.ToolSpec) error, run func(context.Context, *ToolCall) *pluginpb.Result,
) Tool {
	return Tool{spec, schemas, run}
}

// Environment is shared by all calls of a plugin process.
type Environment struct {
	Workspace *workspace.Workspace
	Guard     *guard.Guard
	Grants    pluginpb.Grant
	Exec      exec.CommandSettings
	StateDir  string
	DataDir   string
	Takeback  undo.StoreOptions
	Config    any // of the type of the plugin's
}

// ToolCall is one call with its environment, as passed to a handler.
type ToolCall struct {
	*Environment
	Arguments []byte // canonical JSON, validated
	Agreed    bool   // a person approved the call
	NoOutput  bool   // the caller does not read output events
	// TraceParent and TraceState are the caller's W3C trace context; empty without tracing.
	TraceParent, TraceState string

	Emit func(*pluginpb.CallEvent)
	Log  *slog.Logger // replaces the environment's; also sends records from Info on to the caller
	// Ask sends a question to the person behind the call, or to its client; nil if nobody can answer.
	Ask func(ctx context.Context, question *pluginpb.Question) (*pluginpb.Answer, error)
}

// NewManifest returns the plugin's manifest for plugin.json, or an error if it is invalid.
func NewManifest(p Plugin) (*pluginpb.Manifest, error) {
	m := &pluginpb.Manifest{
		ID:       p.ID,
		Version:  p.Version,
		Doc:      p.Doc,
		Protocol: pluginpb.CurrentProtocol(),
		Grants:   p.Grants,

		FullNames: p.FullNames,
	}
	m.Grants.Workspace = cmp.Or(m.Grants.Workspace, pluginpb.NoWorkspace)
	if p.Config != nil {
		s, err := schema.InferConfig(p.Config)
		if err != nil {
			return nil, fmt.Errorf("configuration: %w", err)
		}
		if m.Config, err = pluginpb.NewSchema(s); err != nil {
			return nil, err
		}
	}
	for _, kind := range []struct {
		offered []Tool
		specs   *[]pluginpb.ToolSpec
	}{{p.Tools, &m.Tools}, {p.Resources, &m.Resources}, {p.Prompts, &m.Prompts}} {
		for _, t := range kind.offered {
			spec := t.spec
			if err := t.schemas(&spec); err != nil {
				return nil, fmt.Errorf("tool %s: %w", spec.Name, err)
			}
			*kind.specs = append(*kind.specs, spec)
		}
	}
	if err := m.Check(); err != nil {
		return nil, err
	}
	for _, spec := range m.AllSpecs() {
		if err := spec.CheckSchemas(); err != nil {
			return nil, fmt.Errorf("plugin %s: %w", m.ID, err)
		}
	}
	return m, nil
}

// decodeConfig decodes the operator's configuration into a copy of the defaults.
func decodeConfig(defaults any, raw json.RawMessage) (any, error) {
	text, err := json.Marshal(defaults) // read anew each time, so that no two processes of a test share what it points to
	if err != nil {
		return nil, err
	}
	c := reflect.New(reflect.TypeOf(defaults))
	if err := json.Unmarshal(text, c.Interface()); err != nil {
		return nil, err
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return c.Elem().Interface(), nil
	}
	if err := validateConfig(defaults, raw); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(raw, c.Interface()); err != nil {
		return nil, err
	}
	return c.Elem().Interface(), nil
}

func validateConfig(defaults any, raw json.RawMessage) error {
	var values map[string]any
	if err := json.Unmarshal(raw, &values); err != nil {
		return fmt.Errorf("it is not a JSON object: %w", err)
	}
	s, err := schema.InferConfig(defaults)
	if err != nil {
		return err
	}
	known := slices.Sorted(maps.Keys(s.Properties))
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if s.Properties[name] == nil {
			return fmt.Errorf("unknown key %q%s", name, suggest.DidYouMean(name, known))
		}
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return err
	}
	return resolved.Validate(values)
}
