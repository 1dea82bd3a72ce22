package contract_test

import (
	"context"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/contract"
	"github.com/picoclaw/picoclaw/sdk/internal/served"
)

type good struct {
	Path string `json:"path" jsonschema:"the file" claim:"read"`
	Mode string `json:"mode,omitempty" jsonschema:"how" enum:"fast,slow" default:"fast"`
}

// tool makes a tool of an input type.
func tool[In any](t sdk.Traits) sdk.Tool {
	return sdk.NewTool("act", "Acts.", func(context.Context, *sdk.Request[In]) (string, error) { return "", nil }, t)
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
		{"a good one", plugin(tool[good](sdk.Traits{})), ""},
		{"a count of files", plugin(tool[struct {
			MaxFiles int `json:"max_files" jsonschema:"how many"`
		}](sdk.Traits{})), ""},
		{"the kind of a file", plugin(tool[struct {
			File string `json:"file" jsonschema:"which" enum:"first,last"`
		}](sdk.Traits{})), ""},
		{"a version", with(func(p *sdk.Plugin) { p.Version = "1.0" }, tool[good](sdk.Traits{})),
			`the version "1.0" is not a semantic one; write three numbers`},
		{"no doc", with(func(p *sdk.Plugin) { p.Doc = "" }, tool[good](sdk.Traits{})), "the plugin has no doc"},
		{"a long doc", with(func(p *sdk.Plugin) { p.Doc = strings.Repeat("long ", 50) + "." }, tool[good](sdk.Traits{})),
			"has 251 bytes"},
		{"a field without a word", plugin(tool[silent](sdk.Traits{})), "tool act: field count: it has no description"},
		{"a path without a claim", plugin(tool[unclaimed](sdk.Traits{})),
			"tool act: field target.source_file: its name suggests"},
		{"paths without a claim", plugin(tool[unclaimedList](sdk.Traits{})), "tool act: field paths: its name suggests"},
		{"a default that does not fit", plugin(tool[badDefault](sdk.Traits{})),
			`field mode: its default "quick" does not fit`},
		{"read-only and writing", plugin(tool[write](sdk.Traits{ReadOnly: true}), tool2()),
			"it is read-only, but claims"},
		{"read-only and destructive", plugin(tool[good](sdk.Traits{ReadOnly: true, Destructive: true}), tool2()),
			"both read-only and destructive"},
		{"deleting in silence", plugin(tool[remove](sdk.Traits{})), "add Destructive"},
		{"deleting", plugin(tool[remove](sdk.Traits{Destructive: true})), ""},
		{"a directory for no command", plugin(tool[cwdOnly](sdk.Traits{})), "and no command"},
		{"a risk", plugin(tool[good](sdk.Traits{Risk: "grave"})), `its risk is "grave"`},
		{"no workspace", with(func(p *sdk.Plugin) { p.Grants.Workspace = "" }, tool[good](sdk.Traits{})),
			"requests no workspace"},
		{"a workspace to read", with(func(p *sdk.Plugin) { p.Grants.Workspace = sdk.ReadOnlyWorkspace },
			tool[write](sdk.Traits{})), "read-only workspace"},
		{"no programs", with(func(p *sdk.Plugin) { p.Grants.Exec = false }, tool[run](sdk.Traits{})),
			"does not request Exec"},
		{"too much", plugin(tool[good](sdk.Traits{ReadOnly: true})), "requests to change the workspace"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := served.PluginManifest(tt.plugin)
			if err != nil {
				t.Fatal(err)
			}
			findings, err := contract.CheckManifest(m)
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
	return sdk.NewTool("change", "Changes.", func(context.Context, *sdk.Request[struct{}]) (string, error) {
		return "",
			nil
	}, sdk.Traits{})
}

func TestInvalidManifestIsRefused(t *testing.T) {
	p := plugin(tool[good](sdk.Traits{}))
	m, err := served.PluginManifest(p)
	if err != nil {
		t.Fatal(err)
	}
	m.ID = "../evil"
	if _, err := contract.CheckManifest(m); err == nil || !strings.Contains(err.Error(), "../evil") {
		t.Errorf("the error is %v", err)
	}
}

func TestOpenArguments(t *testing.T) {
	p := plugin(tool[good](sdk.Traits{}))
	m, err := served.PluginManifest(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Tools[0].Input.UnmarshalJSON([]byte(`{"type":"object","properties":{"x":{"type":"string","description":"x"}}}`)); err != nil {
		t.Fatal(err)
	}
	findings, err := contract.CheckManifest(m)
	if err != nil || len(findings) != 1 || !strings.Contains(findings[0].Problem, "are open") {
		t.Errorf("found %v, %v", findings, err)
	}
}
