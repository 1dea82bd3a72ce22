package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/sdk"
)

type appendFileInput struct {
	Path    string `json:"path" jsonschema:"The file path to append to. Will be created if it doesn't exist." claim:"write"`
	Content string `json:"content" jsonschema:"The content to append. No newline is added."`
	IfMatch string `json:"if_match,omitempty" jsonschema:"Append only if the file has this etag; absent: only if it does not exist."`
}

func newAppendFileTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("append_file", "Append content to the end of a file.",
		func(ctx context.Context, req *sdk.Request[appendFileInput]) (fileChangeOutput, error) {
			in := req.Args
			out, err := m.applyChange(ctx, &req.Environment, changeRequest{
				tool: "append_file", doing: "append to file",
				edits: []fileChange{{path: in.Path, ifMatch: in.IfMatch, parents: true, added: true, make: newTextAppender(in.Content)}},
			})
			if err != nil {
				return fileChangeOutput{}, err
			}
			return newFileChangeOutput(fmt.Sprintf("Appended to %s", hiddentext.QuoteUnprintable(in.Path)), out), nil
		},
		sdk.Traits{
			TextResult: true, Sets: []string{picoclawSet},
			Permissions: []string{"fs.write"}, Risk: "medium", SideEffects: []string{"filesystem_write"},
		})
}

// newTextAppender returns a function that appends text to a file's contents, with the file's line endings and encoding.
func newTextAppender(content string) func(*originalFile) ([]byte, error) {
	return func(c *originalFile) ([]byte, error) {
		data, err := c.readBytes()
		if err != nil {
			return nil, err
		}
		enc, written := text.DetectEncoding(data), content
		if !enc.IsPassthrough() || !text.IsBinary(data[:min(len(data), headSize)]) {
			s, decodeErr := enc.Decode(data)
			if decodeErr != nil {
				return nil, sdk.Errorf(sdk.InvalidArgument, "failed to append to file: %v", decodeErr)
			}
			if !fitsEncoding(s, enc, content) {
				return nil, sdk.Errorf(sdk.InvalidArgument,
					"failed to append to file: the file is not UTF-8, and content is not plain ASCII; nothing was changed").
					WithHint("use insert at the end, with the file's encoding, such as encoding=windows-1252")
			}
			written = text.ConvertLineEndings(content, text.LineEndingAt(s, len(s)))
		}
		added, err := enc.Encode(written)
		if err != nil {
			return nil, sdk.Errorf(sdk.InvalidArgument, "failed to append to file: %v", err)
		}
		return slices.Concat(data, added), nil
	}
}
