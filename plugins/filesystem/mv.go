package main

import (
	"context"

	"github.com/picoclaw/picoclaw/sdk"
)

type mvInput struct {
	Source      string `json:"source" jsonschema:"Source path; a symbolic link is moved, not its target" claim:"delete"`
	Destination string `json:"destination" jsonschema:"Destination path" claim:"write"`
	Overwrite   bool   `json:"overwrite,omitempty" jsonschema:"Overwrite if exists; directories are replaced, not merged" default:"false"`
	IfMatch     string `json:"if_match,omitempty" jsonschema:"Move only if the source has this etag"`
}

func newMvTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("mv", "Move or rename a file or directory.",
		func(ctx context.Context, req *sdk.Request[mvInput]) (transferOutput, error) {
			in := req.Args
			t := fileTransfer{tool: "mv", doing: "move", ifMatch: in.IfMatch}
			return t.runTransfer(ctx, &req.Environment, m, in.Source, in.Destination, in.Overwrite, req.Workspace.MoveTree)
		},
		withChangeTraits(sdk.Traits{Sets: []string{picoclawSet, moduleSet}, Permissions: []string{"fs.read", "fs.write"}}))
}
