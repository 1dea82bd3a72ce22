package sdk_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

// The arguments and the result of a tool are structs; its schema is made of them. The claim tells the host that path
// names a file that is read.
type countInput struct {
	Path string `json:"path" jsonschema:"file to count, relative to the workspace" claim:"read"`
}

type countOutput struct {
	Lines int `json:"lines"`
}

// Text is what an agent reads; without it, it would read the JSON.
func (o countOutput) Text() string { return fmt.Sprintf("%d lines", o.Lines) }

// A handler does its I/O through the request's workspace, which can't be led out of what the policy opens.
func countLines(_ context.Context, req *sdk.Request[countInput]) (countOutput, error) {
	data, err := req.Workspace.ReadFile(req.Args.Path)
	if err != nil {
		return countOutput{}, err
	}
	return countOutput{Lines: bytes.Count(data, []byte("\n"))}, nil
}

// wordcount is the whole plugin; its main function is sdk.Main(wordcount()).
func wordcount() sdk.Plugin {
	return sdk.Plugin{
		ID:      "wordcount",
		Version: "1.0.0",
		Doc:     "Counts things in files.",
		Grants:  sdk.Grants{Workspace: sdk.ReadOnlyWorkspace},
		Tools: []sdk.Tool{
			sdk.NewTool("count_lines", "Count the lines of a file.", countLines, sdk.Traits{ReadOnly: true}),
		},
	}
}

func ExampleNewTool() {
	plugin := wordcount()
	fmt.Println(plugin.ID, "offers", len(plugin.Tools), "tool") // sdk.Main(plugin) serves it
	// Output: wordcount offers 1 tool
}

// Package sdktest runs a plugin in the test's own process, with a workspace of its own.
func TestWordcount(t *testing.T) {
	p := sdktest.Start(t, wordcount(), sdktest.Options{Files: map[string]string{"poem": "roses\nviolets\n"}})
	if r := p.Call("count_lines", map[string]any{"path": "poem"}); r.Err != nil || r.Text != "2 lines" ||
		string(r.Structured) != `{"lines":2}` {
		t.Errorf("%q %s %v", r.Text, r.Structured, r.Err)
	}
	if r := p.Call("count_lines", map[string]any{"path": "/etc/passwd"}); r.Err == nil ||
		r.Err.GetRule() != "workspace.outside" {
		t.Errorf("a file outside: %q %v", r.Text, r.Err)
	}
	if r := p.Call("count_lines", `{"path":"poem","PATH":"/etc/passwd"}`); r.Err == nil {
		t.Error("an unknown argument is taken")
	}
}
