package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/picoclaw/picoclaw/sdk"
)

type appendFileInput struct {
	Path    string `json:"path" jsonschema:"The file path to append to. Will be created if it doesn't exist." claim:"write"`
	Content string `json:"content" jsonschema:"The content to append. No newline is added."`
}

func appendFile() sdk.Tool {
	return sdk.NewTool("append_file", "Append content to the end of a file.",
		func(_ context.Context, req *sdk.Request[appendFileInput]) (string, error) {
			err := req.Workspace.Update(req.Args.Path, func(old []byte, _ bool) ([]byte, error) {
				return slices.Concat(old, []byte(req.Args.Content)), nil
			})
			if err != nil {
				return "", failure("append to file", err)
			}
			return fmt.Sprintf("Appended to %s", shown(req.Args.Path)), nil
		},
		sdk.Sets("picoclaw"), sdk.Permissions("fs.write"), sdk.Risk("medium"), sdk.SideEffects("filesystem_write"))
}
