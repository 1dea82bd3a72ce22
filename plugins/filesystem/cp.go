package main

import (
	"context"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

type cpInput struct {
	Source      string `json:"source" jsonschema:"Source path" claim:"read"`
	Destination string `json:"destination" jsonschema:"Destination path" claim:"write"`
	Overwrite   bool   `json:"overwrite,omitempty" jsonschema:"Overwrite if exists; a directory is replaced as a whole" default:"false"`
	IfMatch     string `json:"if_match,omitempty" jsonschema:"Copy only if the source file still has this etag"`
}

func cp(m *memory) sdk.Tool {
	return sdk.NewTool("cp", "Copy a file or directory.",
		func(ctx context.Context, req *sdk.Request[cpInput]) (transferOutput, error) {
			if err := m.open(&req.Environment); err != nil {
				return transferOutput{}, err
			}
			t := transferring{tool: "cp", doing: "copy", ifMatch: req.Args.IfMatch}
			err := req.Workspace.Copy(req.Args.Source, req.Args.Destination,
				workspace.TransferOptions{Overwrite: req.Args.Overwrite, Last: t.last(ctx, &req.Environment, m), Stop: ctx.Err})
			if err != nil {
				m.drop(t.out.Undo, err)
				return transferOutput{}, t.failure(req.Workspace, req.Args.Source, req.Args.Destination, err)
			}
			return t.out, nil
		},
		writes(sdk.Traits{Sets: []string{picoclawSet, moduleSet}, Permissions: []string{"fs.read", "fs.write"}}))
}
