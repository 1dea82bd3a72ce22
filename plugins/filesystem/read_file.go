package main

import (
	"context"

	"github.com/picoclaw/picoclaw/sdk"
)

type readFileInput struct {
	Path string `json:"path" jsonschema:"Path to the file to read. Can be absolute or relative to the workspace." claim:"read"`
}

func readFile() sdk.Tool {
	return sdk.NewTool("read_file", "Read the contents of a file from the filesystem.",
		func(_ context.Context, req *sdk.Request[readFileInput]) (string, error) {
			data, err := req.Workspace.ReadFile(req.Args.Path)
			if err != nil {
				return "", failure("read file", err)
			}
			return decode(data), nil
		},
		sdk.ReadOnly(), sdk.Sets("picoclaw"), sdk.Permissions("fs.read"), sdk.Risk("low"))
}
