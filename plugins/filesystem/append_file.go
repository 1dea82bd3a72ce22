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
	IfMatch string `json:"if_match,omitempty" jsonschema:"Append only if the file still has this etag; absent: only if there is none."`
}

func appendFile(m *pluginState) sdk.Tool {
	return sdk.NewTool("append_file", "Append content to the end of a file.",
		func(ctx context.Context, req *sdk.Request[appendFileInput]) (changedFile, error) {
			in := req.Args
			out, err := m.applyChange(ctx, &req.Environment, fileChanges{
				tool: "append_file", doing: "append to file",
				edits: []fileEdit{{path: in.Path, ifMatch: in.IfMatch, parents: true, added: true, make: appendText(in.Content)}},
			})
			if err != nil {
				return changedFile{}, err
			}
			return newChangedFile(fmt.Sprintf("Appended to %s", hiddentext.QuoteName(in.Path)), out), nil
		},
		sdk.Traits{
			TextResult: true, Sets: []string{picoclawSet},
			Permissions: []string{"fs.write"}, Risk: "medium", SideEffects: []string{"filesystem_write"},
		})
}

// appendText adds text to the end of a file, with its line endings and encoding.
func appendText(content string) func(*oldContent) ([]byte, error) {
	return func(c *oldContent) ([]byte, error) {
		data, err := c.readBytes()
		if err != nil {
			return nil, err
		}
		enc, written := text.Detect(data), content
		if !enc.Plain() || !text.Binary(data[:min(len(data), looked)]) {
			s, decodeErr := enc.Decode(data)
			if decodeErr != nil {
				return nil, sdk.Errorf(sdk.InvalidArgument, "failed to append to file: %v", decodeErr)
			}
			if !fitsEncoding(s, enc, content) {
				return nil, sdk.Errorf(sdk.InvalidArgument,
					"failed to append to file: the file is not UTF-8, and content is not plain ASCII; nothing was changed").
					WithHint("insert adds to the end as well, and takes the file's encoding, such as encoding=windows-1252")
			}
			written = text.WithEndings(content, text.EndingNear(s, len(s)))
		}
		added, err := enc.Encode(written)
		if err != nil {
			return nil, sdk.Errorf(sdk.InvalidArgument, "failed to append to file: %v", err)
		}
		return slices.Concat(data, added), nil
	}
}
