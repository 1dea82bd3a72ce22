package main

import (
	"context"
	"fmt"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/sdk"
)

type writeFileInput struct {
	Path    string `json:"path" jsonschema:"Path to the file to write. Will be created if it doesn't exist." claim:"write"`
	Content string `json:"content" jsonschema:"Content to write to the file."`
	IfMatch string `json:"if_match,omitempty" jsonschema:"Write only if the file still has this etag; absent: only if there is none."`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"Change nothing and return the unified diff."`
}

func writeFile(m *pluginState) sdk.Tool {
	return sdk.NewTool("write_file", "Write content to a file, creating parent directories if needed.",
		func(ctx context.Context, req *sdk.Request[writeFileInput]) (changedFile, error) {
			in := req.Args
			out, err := m.applyChange(ctx, &req.Environment, fileChanges{
				tool: "write_file", doing: "write file", dryRun: in.DryRun,
				edits: []fileEdit{{path: in.Path, ifMatch: in.IfMatch, parents: true, make: replaceAll(in.Content, nil)}},
			})
			if err != nil {
				return changedFile{}, err
			}
			return newChangedFile(fmt.Sprintf("File written: %s", hiddentext.QuoteName(in.Path)), out), nil
		},
		changeTraits(sdk.Traits{Sets: []string{picoclawSet}, TextResult: true, Idempotent: true,
			Permissions: []string{"fs.write"}}))
}

// replaceAll makes text the whole content of a file, in the given encoding or that of the file's byte order mark, which
// is kept. Line endings are written as given.
func replaceAll(content string, given *text.Encoding) func(*oldContent) ([]byte, error) {
	return func(c *oldContent) ([]byte, error) {
		if given != nil {
			return encodeFile(*given, content)
		}
		enc, err := c.detectEncoding()
		if err != nil {
			return nil, err
		}
		return encodeFile(enc, content)
	}
}

func encodeFile(enc text.Encoding, content string) ([]byte, error) {
	data, err := enc.EncodeFile(content)
	if err != nil {
		return nil, sdk.Errorf(sdk.InvalidArgument, "%v; nothing was changed", err)
	}
	return data, nil
}
