package main

import (
	"context"
	"fmt"

	"github.com/picoclaw/picoclaw/sdk"
)

type writeFileInput struct {
	Path    string `json:"path" jsonschema:"Path to the file to write. Will be created if it doesn't exist." claim:"write"`
	Content string `json:"content" jsonschema:"Content to write to the file."`
}

func writeFile() sdk.Tool {
	return sdk.NewTool("write_file", "Write content to a file, creating parent directories if needed.",
		func(_ context.Context, req *sdk.Request[writeFileInput]) (string, error) {
			if err := req.Workspace.WriteFile(req.Args.Path, []byte(req.Args.Content)); err != nil {
				return "", failure("write file", err)
			}
			return fmt.Sprintf("File written: %s", shown(req.Args.Path)), nil
		},
		sdk.Destructive(), sdk.Idempotent(), sdk.Sets("picoclaw"),
		sdk.Permissions("fs.write"), sdk.Risk("medium"), sdk.SideEffects("filesystem_write"))
}
