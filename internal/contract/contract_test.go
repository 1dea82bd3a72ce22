package contract_test

import (
	"context"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/internal/contract"
	"github.com/picoclaw/picoclaw/sdk"
)

type good struct {
	Path string `json:"path" jsonschema:"the file" claim:"read"`
	Mode string `json:"mode,omitempty" jsonschema:"how" enum:"fast,slow" default:"fast"`
}

// tool makes a tool of an input type.
func tool[In any](options ...sdk.ToolOption) sdk.Tool {
	return sdk.NewTool("act", "Acts.", func(context.Context, *sdk.Request[In]) (string, error) { return "", nil }, options...)
}

func plugin(tools ...sdk.Tool) sdk.Plugin {
	return sdk.Plugin{
		ID: "sample", Version: "1.0.0", Doc: "A sample.", Tools: tools,
		Grants: sdk.Grants{Workspace: sdk.WorkspaceAccess, Exec: true},
	}
}

func with(change func(*sdk.Plugin), tools ...sdk.Tool) sdk.Plugin {
	p := plugin(tools...)
	change(&p)
	return p
}

func TestFindings(t *testing.T) {
	type write struct {
		Path string `json:"path" jsonschema:"the file" claim:"write"`
	}
	type remove struct {
		Path string `json:"path" jsonschema:"the file" claim:"delete"`
	}
	type unclaimed struct {
		Target struct {
			SourceFile string `json:"source_file" jsonschema:"where from"`
		} `json:"target" jsonschema:"what"`
	}
	type unclaimedList struct {
		Paths []string `json:"paths" jsonschema:"which"`
	}
	type run struct {
		Command string `json:"command" jsonschema:"what to run" claim:"command"`
	}
	type cwdOnly struct {
		Dir string `json:"dir" jsonschema:"where" claim:"cwd"`
	}
	type silent struct {
		Count int `json:"count"`
	}
	type badDefault struct {
		Mode string `json:"mode,omitempty" jsonschema:"how" enum:"fast,slow" default:"quick"`
	}
	tests := []struct {
		name   string
		plugin sdk.Plugin
		want   string // a part of the only finding; empty for none
	}{
		{"a good one", plugin(tool[good]()), ""},
		{"a count of files", plugin(tool[struct {
			MaxFiles int `json:"max_files" jsonschema:"how many"`
		}]()), ""},
		{"the kind of a file", plugin(tool[struct {
			File string `json:"file" jsonschema:"which" enum:"first,last"`
		}]()), ""},
		{"a version", with(func(p *sdk.Plugin) { p.Version = "1.0" }, tool[good]()), `the version "1.0" is not a semantic one; write three numbers`},
		{"no doc", with(func(p *sdk.Plugin) { p.Doc = "" }, tool[good]()), "the plugin has no doc"},
		{"a long doc", with(func(p *sdk.Plugin) { p.Doc = strings.Repeat("long ", 50) + "." }, tool[good]()), "has 251 bytes"},
		{"a field without a word", plugin(tool[silent]()), "tool act: field count: nothing says what it means"},
		{"a path without a claim", plugin(tool[unclaimed]()), "tool act: field target.source_file: its name says"},
		{"paths without a claim", plugin(tool[unclaimedList]()), "tool act: field paths: its name says"},
		{"a default that does not fit", plugin(tool[badDefault]()), `field mode: its default "quick" does not fit`},
		{"read-only and writing", plugin(tool[write](sdk.ReadOnly()), tool2()), "it says that it changes nothing, and claims"},
		{"read-only and destructive", plugin(tool[good](sdk.ReadOnly(), sdk.Destructive()), tool2()), "and that it destroys"},
		{"deleting in silence", plugin(tool[remove]()), "add Destructive"},
		{"deleting", plugin(tool[remove](sdk.Destructive())), ""},
		{"a directory for no command", plugin(tool[cwdOnly]()), "and no command"},
		{"a risk", plugin(tool[good](sdk.Risk("grave"))), `its risk is "grave"`},
		{"no workspace", with(func(p *sdk.Plugin) { p.Grants.Workspace = "" }, tool[good]()), "asks for no workspace"},
		{"a workspace to read", with(func(p *sdk.Plugin) { p.Grants.Workspace = sdk.ReadOnlyWorkspace }, tool[write]()), "to read only"},
		{"no programs", with(func(p *sdk.Plugin) { p.Grants.Exec = false }, tool[run]()), "does not ask to start programs"},
		{"too much", plugin(tool[good](sdk.ReadOnly())), "asks to change the workspace"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := tt.plugin.Manifest()
			if err != nil {
				t.Fatal(err)
			}
			findings, err := contract.Check(m)
			if err != nil {
				t.Fatal(err)
			}
			switch {
			case tt.want == "" && len(findings) > 0:
				t.Errorf("found %v", findings)
			case tt.want != "" && (len(findings) != 1 || !strings.Contains(findings[0].String(), tt.want)):
				t.Errorf("found %v, want %s", findings, tt.want)
			}
		})
	}
}

// tool2 changes something, so that a plugin that asks to is right to.
func tool2() sdk.Tool {
	return sdk.NewTool("change", "Changes.", func(context.Context, *sdk.Request[struct{}]) (string, error) { return "", nil })
}

func TestAManifestThatNoHostTakesIsAnError(t *testing.T) {
	p := plugin(tool[good]())
	m, err := p.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	m.ID = "../evil"
	if _, err := contract.Check(m); err == nil || !strings.Contains(err.Error(), "../evil") {
		t.Errorf("the error is %v", err)
	}
}

func TestOpenArguments(t *testing.T) {
	p := plugin(tool[good]())
	m, err := p.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Tools[0].Input.UnmarshalJSON([]byte(`{"type":"object","properties":{"x":{"type":"string","description":"x"}}}`)); err != nil {
		t.Fatal(err)
	}
	findings, err := contract.Check(m)
	if err != nil || len(findings) != 1 || !strings.Contains(findings[0].Problem, "are open") {
		t.Errorf("found %v, %v", findings, err)
	}
}
