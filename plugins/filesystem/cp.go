package main

import (
	"context"

	"github.com/picoclaw/picoclaw/sdk"
)

type cpInput struct {
	Source      string `json:"source" jsonschema:"Source path" claim:"read"`
	Destination string `json:"destination" jsonschema:"Destination path" claim:"write"`
	Overwrite   bool   `json:"overwrite,omitempty" jsonschema:"Overwrite if exists; directories are replaced, not merged" default:"false"`
	IfMatch     string `json:"if_match,omitempty" jsonschema:"Copy only if the source has this etag"`
}

func newCpTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("cp", "Copy a file or directory.",
		func(ctx context.Context, req *sdk.Request[cpInput]) (transferOutput, error) {
			in := req.Args
			t := fileTransfer{tool: "cp", doing: "copy", ifMatch: in.IfMatch}
			return t.runTransfer(ctx, &req.Environment, m, in.Source, in.Destination, in.Overwrite, req.Workspace.CopyTree)
		},
		withChangeTraits(sdk.Traits{Sets: []string{picoclawSet, moduleSet}, Permissions: []string{"fs.read", "fs.write"}}))
}
