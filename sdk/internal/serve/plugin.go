package serve

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/picoclaw/picoclaw/sdk/exec"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/schema"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Plugin is a plugin in the wire's terms.
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
	spec    pluginpb.Spec              // but for the schemas
	schemas func(*pluginpb.Spec) error // infers them, which takes longer than a plugin's start should
	run     func(context.Context, *ToolCall) *pluginpb.Result
}

// NewTool returns a tool from its specification and handler.
func NewTool(
	spec pluginpb.Spec, schemas func(*pluginpb.Spec) error, run func(context.Context, *ToolCall) *pluginpb.Result,
) Tool {
	return Tool{spec, schemas, run}
}

// Environment is shared by all calls of a plugin process.
type Environment struct {
	Workspace *workspace.Workspace
	Guard     *guard.Guard
	Grants    pluginpb.Grant
	Exec      exec.Settings
	StateDir  string
	DataDir   string
	Takeback  undo.StoreOptions
	Config    any // of the type of the plugin's
}

// ToolCall is a call passed to a handler.
type ToolCall struct {
	*Environment
	Arguments []byte // canonical JSON, validated
	Agreed    bool   // a person was asked about the call, and has agreed
	NoOutput  bool   // nobody reads output events
	// Where the call stands in what its caller traces, in W3C's words; empty where nobody does.
	TraceParent, TraceState string

	Emit func(*pluginpb.CallEvent)
	Log  *slog.Logger // in place of the environment's: what it is told from info on is emitted too
	// Ask puts a question to the person behind the call, or to its client; nil if there is nobody.
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
	if m.Grants.Workspace == "" {
		m.Grants.Workspace = pluginpb.NoWorkspace
	}
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
		specs   *[]pluginpb.Spec
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
	for _, spec := range m.Specs() {
		if err := spec.CheckSchemas(); err != nil {
			return nil, fmt.Errorf("plugin %s: %w", m.ID, err)
		}
	}
	return m, nil
}
