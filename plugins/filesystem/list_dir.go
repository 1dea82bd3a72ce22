package main

import (
	"context"
	"strings"

	"github.com/picoclaw/picoclaw/sdk"
)

type listDirInput struct {
	Path string `json:"path,omitempty" jsonschema:"Path to the directory to list. Defaults to the workspace if empty." claim:"list"`
}

func listDir() sdk.Tool {
	return sdk.NewTool("list_dir", "List files and directories in a specified path.",
		func(_ context.Context, req *sdk.Request[listDirInput]) (string, error) {
			path := req.Args.Path
			if path == "" {
				path = "."
			}
			entries, err := req.Workspace.ReadDir(path)
			if err != nil {
				return "", failure("list directory", err)
			}
			var b strings.Builder
			for i, entry := range entries {
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
			return b.String(), nil
		},
		sdk.ReadOnly(), sdk.Sets("picoclaw"), sdk.Permissions("fs.list"), sdk.Risk("low"))
}
