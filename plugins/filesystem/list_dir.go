package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// listPage is how many entries one call of list_dir or ls answers with.
const listPage = 10_000

type listDirInput struct {
	Path  string `json:"path,omitempty" jsonschema:"Path to the directory to list. Defaults to the workspace if empty." claim:"list"`
	After string `json:"after,omitempty" jsonschema:"Name to go on after, when a listing was too long for one answer."`
}

func listDir() sdk.Tool {
	return sdk.NewTool("list_dir", "List files and directories in a specified path.",
		func(_ context.Context, req *sdk.Request[listDirInput]) (string, error) {
			path := req.Args.Path
			if path == "" {
				path = "."
			}
			return listed(req.Workspace, path, req.Args.After)
		},
		sdk.ReadOnly(), sdk.Sets(picoclawSet), sdk.Permissions("fs.list"), sdk.Risk("low"))
}

// listed is a directory in the form that agents know, a line for each entry.
func listed(w *workspace.Workspace, path, after string) (string, error) {
	page, err := w.ReadDirPage(path, after, listPage)
	if err != nil {
		return "", failure("list directory", notDirectory(w, path, err))
	}
	var b strings.Builder
	b.Grow(32 * len(page.Entries))
	for i, entry := range page.Entries {
		if i > 0 {
			b.WriteByte('\n')
		}
		if entry.IsDir() {
			b.WriteString("DIR: ")
		} else {
			b.WriteString("FILE: ")
		}
		b.WriteString(shown(entry.Name()))
	}
	if page.More {
		fmt.Fprintf(&b, "\n[%d entries in all; next: after=%s]", page.Total, shown(page.Entries[len(page.Entries)-1].Name()))
	}
	return b.String(), nil
}
