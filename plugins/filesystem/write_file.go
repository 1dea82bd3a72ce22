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
	IfMatch string `json:"if_match,omitempty" jsonschema:"Write only if the file has this etag; absent: only if it does not exist."`
	DryRun  bool   `json:"dry_run,omitempty" jsonschema:"Return the unified diff without changes."`
}

func newWriteFileTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("write_file", "Write content to a file, creating parent directories if needed.",
		func(ctx context.Context, req *sdk.Request[writeFileInput]) (fileChangeOutput, error) {
			in := req.Args
			out, err := m.applyChange(ctx, &req.Environment, changeRequest{
				tool: "write_file", doing: "write file", dryRun: in.DryRun,
				edits: []fileChange{{path: in.Path, ifMatch: in.IfMatch, parents: true, make: newFullReplacer(in.Content, nil)}},
			})
			if err != nil {
				return fileChangeOutput{}, err
			}
			return newFileChangeOutput(fmt.Sprintf("File written: %s", hiddentext.QuoteName(in.Path)), out), nil
		},
		withChangeTraits(sdk.Traits{Sets: []string{picoclawSet}, TextResult: true, Idempotent: true,
			Permissions: []string{"fs.write"}}))
}

// newFullReplacer returns a function that replaces a file's contents with text. The function encodes the text in the
// given encoding, or else in the encoding of the file's byte order mark. It keeps the mark and does not convert line
// endings.
func newFullReplacer(content string, given *text.Encoding) func(*originalFile) ([]byte, error) {
	return func(c *originalFile) ([]byte, error) {
		if given != nil {
			return encodeText(*given, content)
		}
		enc, err := c.detectEncoding()
		if err != nil {
			return nil, err
		}
		return encodeText(enc, content)
	}
}

func encodeText(enc text.Encoding, content string) ([]byte, error) {
	data, err := enc.EncodeFile(content)
	if err != nil {
		return nil, sdk.Errorf(sdk.InvalidArgument, "%v; nothing was changed", err)
	}
	return data, nil
}
