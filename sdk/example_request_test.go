package sdk_test

import (
	"bytes"
	"context"
	"fmt"
	"testing"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/sdktest"
)

type searchInput struct {
	Paths []string `json:"paths" jsonschema:"files to look through" claim:"read"`
	Word  string   `json:"word" jsonschema:"what to look for"`
	Max   int      `json:"max,omitempty" jsonschema:"how many files to name" default:"10" minimum:"1" maximum:"1000"`
}

func search(ctx context.Context, req *sdk.Request[searchInput]) (string, error) {
	limit := req.Args.Max
	if limit == 0 {
		limit = 10
	}
	var found []byte
	for i, path := range req.Args.Paths {
		if ctx.Err() != nil {
			return "", ctx.Err() // the caller gave up, or the time is over
		}
		req.ReportProgress(float64(i), float64(len(req.Args.Paths)), path)
		data, err := req.Workspace.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("look through %s: %w", path, err) // a missing file stays not_found, a refusal keeps its rule
		}
		if limit > 0 && bytes.Contains(data, []byte(req.Args.Word)) {
			found, limit = append(found, path+"\n"...), limit-1
		}
	}
	req.Log.Debug("searched", "files", len(req.Args.Paths))
	if found == nil {
		return "", sdk.Errorf(sdk.NotFound, "%q is in none of the files",
			req.Args.Word).WithHint("look in others, or for another word")
	}
	return string(found), nil
}

func TestSearch(t *testing.T) {
	p := sdk.Plugin{
		ID: "search", Version: "1.0.0", Doc: "Looks for words.",
		Grants: sdk.Grants{Workspace: sdk.ReadOnlyWorkspace},
		Tools:  []sdk.Tool{sdk.NewTool("search", "Look for a word in files.", search, sdk.Traits{ReadOnly: true})},
	}
	files := map[string]string{"a": "roses", "b": "violets"}
	cases := []sdktest.Case{
		{Name: "found", Tool: "search", Files: files, Args: `{"paths":["a","b"],"word":"rose"}`, Want: "a\n",
			Check: func(t testing.TB, _ string, r sdktest.Result) {
				if len(r.Progress) != 2 || r.Progress[1].GetMessage() != "b" {
					t.Errorf("progress: %v", r.Progress)
				}
			}},
		{Name: "in none", Tool: "search", Files: files, Args: `{"paths":["a","b"],"word":"lily"}`, WantErr: sdk.NotFound},
		{Name: "no such file", Tool: "search", Args: `{"paths":["c"],"word":"x"}`, WantErr: sdk.NotFound,
			WantContains: []string{"look through c"}},
		{Name: "outside", Tool: "search", Args: `{"paths":["/etc/passwd"],"word":"x"}`, WantErr: sdk.AccessDenied},
	}
	sdktest.CheckManifest(t, p, cases...)
	sdktest.Run(t, p, cases...)
}
