package sdktest_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

type countInput struct {
	Path string `json:"path" jsonschema:"file to count, relative to the workspace" claim:"read"`
}

type countOutput struct {
	Count int    `json:"count"`
	Unit  string `json:"unit"`
}

// settings is what the operator can configure.
type settings struct {
	Unit string `json:"unit" jsonschema:"what to count" enum:"lines,bytes"`
}

func count(_ context.Context, req *sdk.Request[countInput]) (countOutput, error) {
	data, err := req.Workspace.ReadFile(req.Args.Path)
	if err != nil {
		return countOutput{}, err
	}
	req.Log.Debug("read", "bytes", len(data))
	unit := sdk.ConfigOf[settings](req).Unit
	if unit == "bytes" {
		return countOutput{Count: len(data), Unit: unit}, nil
	}
	return countOutput{Count: bytes.Count(data, []byte("\n")), Unit: unit}, nil
}

// counter is a whole plugin; its main function is sdk.Main(counter()).
func counter() sdk.Plugin {
	return sdk.Plugin{
		ID:      "counter",
		Version: "1.0.0",
		Doc:     "Counts what is in files.",
		Grants:  sdk.Grants{Workspace: sdk.ReadOnlyWorkspace},
		Config:  settings{Unit: "lines"},
		Tools:   []sdk.Tool{sdk.NewTool("count", "Count what is in a file.", count, sdk.Traits{ReadOnly: true})},
	}
}

// cases are calls as data. The same ones go to the plugin in this process and to its binary.
func cases() []sdktest.Case {
	poem := map[string]string{"poem": "roses\nviolets\n"}
	return []sdktest.Case{
		{Name: "lines", Tool: "count", Files: poem, Args: map[string]any{"path": "poem"},
			WantJSON: `{"count":2,"unit":"lines"}`},
		{Name: "bytes", Tool: "count", Files: poem, Args: `{"path":"poem"}`, Config: settings{Unit: "bytes"},
			WantContains: []string{"14"}},
		{Name: "outside", Tool: "count", Args: `{"path":"/etc/passwd"}`, WantErr: sdk.AccessDenied},
	}
}

// A plugin's test file has three functions of one line each: this one, sdktest.Run(t, counter(), cases()...) for the
// same calls in this process, and sdktest.Build(t, ".").Run(t, cases()...) for the built plugin in picoclaw's
// sandbox.
func ExampleCheckManifest() {
	t := &testing.T{} // the test's own
	sdktest.CheckManifest(t, counter(), cases()...)
	fmt.Println("failed:", t.Failed())
	// Output: failed: false
}
