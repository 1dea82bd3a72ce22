package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/sdk"
)

type readFileInput struct {
	Path      string `json:"path" jsonschema:"Path to the file to read. Can be absolute or relative to the workspace." claim:"read"`
	StartLine int    `json:"start_line,omitempty" jsonschema:"First line to read, from 1." minimum:"1"`
	EndLine   int    `json:"end_line,omitempty" jsonschema:"Last line to read." minimum:"1"`
	Offset    *int64 `json:"offset,omitempty" jsonschema:"First byte to read, from 0, instead of lines." minimum:"0"`
	Length    int64  `json:"length,omitempty" jsonschema:"Number of bytes to read." minimum:"1"`
	Encoding  string `json:"encoding,omitempty" jsonschema:"Encoding, if neither UTF-8 nor named by a byte order mark, such as windows-1252 or utf-16le."`
}

// readFileOutput is the structured result of read_file, which describes the returned text.
type readFileOutput struct {
	Path       string           `json:"path"`
	Etag       string           `json:"etag,omitempty" jsonschema:"Etag of these contents, for if_match of a change. Absent for bytes of a long binary file, and for a file over 1 GiB with a very recent change."`
	SizeBytes  int64            `json:"size_bytes"`
	TotalLines *int             `json:"total_lines,omitempty" jsonschema:"Number of lines; absent for files over 1 GiB."`
	StartLine  int              `json:"start_line,omitempty"`
	EndLine    int              `json:"end_line,omitempty"`
	Encoding   string           `json:"encoding,omitempty"`
	BOM        bool             `json:"bom,omitempty" jsonschema:"The file begins with a byte order mark, which the text omits."`
	EOL        string           `json:"eol,omitempty" jsonschema:"Line endings: lf, crlf, mixed or none."`
	Next       *nextPartRequest `json:"next,omitempty" jsonschema:"Arguments for the next part of the file."`
	Binary     bool             `json:"binary,omitempty" jsonschema:"The text is a description of the file."`
	MediaType  string           `json:"media_type,omitempty"`

	window *fileWindow
}

// Text returns the text, and a line about the rest of the file if there is more.
func (o readFileOutput) Text() string {
	if o.window == nil {
		return ""
	}
	var said []string
	if o.Next != nil && !o.window.asked {
		all := ""
		if o.TotalLines != nil {
			all = ", " + formatLineCount(*o.TotalLines)
		}
		said = append(said, fmt.Sprintf("the file continues: %d bytes%s in total; next: %s", o.SizeBytes, all, o.Next))
	}
	if o.window.Note != "" {
		said = append(said, o.window.Note)
	}
	if len(said) == 0 {
		return o.window.Text
	}
	text := o.window.Text
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + "[" + strings.Join(said, "; ") + "]"
}

// Contents returns the image, if the file is an image.
func (o readFileOutput) Contents() []sdk.Content {
	if o.window == nil || o.window.Media == nil {
		return nil
	}
	return []sdk.Content{{Data: o.window.Media, MediaType: o.window.MediaType}}
}

func newReadFileTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("read_file",
		"Read the contents of a file from the filesystem. Reads all lines, some lines or some bytes.",
		func(ctx context.Context, req *sdk.Request[readFileInput]) (readFileOutput, error) {
			in := req.Args
			p := requestedPart{StartLine: in.StartLine, EndLine: in.EndLine, Length: in.Length, Encoding: in.Encoding}
			p.Bytes = in.Offset != nil || in.Length > 0
			if in.Offset != nil {
				p.Offset = *in.Offset
			}
			w, err := readPart(ctx, &req.Environment, m, in.Path, p)
			if err != nil {
				return readFileOutput{}, newPathFailureError("read file", in.Path, err)
			}
			return readFileOutput{
				Path: w.Path, Etag: w.Etag, SizeBytes: w.Size, TotalLines: w.totalLines(), StartLine: w.Start, EndLine: w.End,
				Encoding: w.Encoding, BOM: w.Mark, EOL: w.EOL, Next: w.Next, Binary: w.Binary, MediaType: w.MediaType,
				window: w,
			}, nil
		},
		sdk.Traits{
			ReadOnly: true, TextResult: true, Sets: []string{picoclawSet},
			Permissions: []string{"fs.read"}, Risk: "low",
		})
}
