package main

import (
	"context"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/sdk"
)

type writeInput struct {
	Path       string `json:"path" jsonschema:"Path to write to" claim:"write"`
	Content    string `json:"content" jsonschema:"Text content"`
	CreateDirs bool   `json:"create_dirs,omitempty" jsonschema:"Create parent directories" default:"false"`
	Encoding   string `json:"encoding,omitempty" jsonschema:"Text encoding; default: the encoding of the file's byte order mark, or utf-8" default:"utf-8"`
	IfMatch    string `json:"if_match,omitempty" jsonschema:"Write only if the file has this etag; absent: only if it does not exist"`
	DryRun     bool   `json:"dry_run,omitempty" jsonschema:"Return the unified diff without changes"`
}

// newFileMode is the mode of created files, before the umask.
const newFileMode = 0o666

func newWriteTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("write", "Create or overwrite a file.",
		func(ctx context.Context, req *sdk.Request[writeInput]) (writeOutput, error) {
			in := req.Args
			var given *text.Encoding
			if in.Encoding != "" {
				enc, err := text.FindEncoding(in.Encoding)
				if err != nil {
					return writeOutput{}, sdk.Errorf(sdk.InvalidArgument, "%v", err)
				}
				given = &enc
			}
			if given != nil && given.IsASCIICompatible() && len(given.Mark) == 0 {
				given = nil // the default, which keeps what the file says of itself
			}
			out, err := m.applyChange(ctx, &req.Environment, changeRequest{
				tool: "write", doing: "write file", dryRun: in.DryRun,
				edits: []fileChange{{path: in.Path, ifMatch: in.IfMatch, parents: in.CreateDirs, mode: newFileMode,
					make: newFullReplacer(in.Content, given)}},
			})
			if err != nil {
				return writeOutput{}, addMissingDirHint(err, in.Path, in.CreateDirs)
			}
			return newWriteOutput(out), nil
		},
		withChangeTraits(sdk.Traits{Sets: []string{moduleSet}, Idempotent: true, Permissions: []string{"fs.write"}}))
}
