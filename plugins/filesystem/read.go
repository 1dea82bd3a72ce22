package main

import (
	"context"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/sdk"
)

type readInput struct {
	Path      string `json:"path" jsonschema:"Path to the file" claim:"read"`
	StartLine int    `json:"start_line,omitempty" jsonschema:"First line (1-indexed)" default:"1" minimum:"1"`
	EndLine   int    `json:"end_line,omitempty" jsonschema:"Last line (1-indexed); the last one of the file if not given" minimum:"1"`
	Encoding  string `json:"encoding,omitempty" jsonschema:"Text encoding; a byte order mark goes before it" default:"utf-8"`
	Offset    *int64 `json:"offset,omitempty" jsonschema:"First byte, from 0, in place of lines: for lines that are too long to be read at once" minimum:"0"`
	Length    int64  `json:"length,omitempty" jsonschema:"How many bytes" minimum:"1"`
}

type readOutput struct {
	Path       string           `json:"path"`
	Content    string           `json:"content" jsonschema:"The lines, each with its number"`
	TotalLines *int             `json:"total_lines,omitempty" jsonschema:"How many lines the file has; not given if it is longer than 1 GiB"`
	StartLine  int              `json:"start_line"`
	EndLine    int              `json:"end_line"`
	SizeBytes  int64            `json:"size_bytes"`
	Etag       string           `json:"etag,omitempty" jsonschema:"Identifies these contents: if_match of a change wants it. Not given with bytes of a long binary file, and of a file over 1 GiB that was changed a moment ago"`
	Encoding   string           `json:"encoding,omitempty"`
	BOM        bool             `json:"bom,omitempty"`
	EOL        string           `json:"eol,omitempty" jsonschema:"Line endings: lf, crlf, mixed or none"`
	Next       *nextPartRequest `json:"next,omitempty" jsonschema:"What to ask for next: there is more"`
	Note       string           `json:"note,omitempty"`
	Binary     bool             `json:"binary,omitempty" jsonschema:"The content describes the file and is not of it"`
	MediaType  string           `json:"media_type,omitempty"`

	media []byte
}

// Contents returns the image, if the file is an image.
func (o readOutput) Contents() []sdk.Content {
	if o.media == nil {
		return nil
	}
	return []sdk.Content{{Data: o.media, MediaType: o.MediaType}}
}

func newReadTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("read", "Read a file with line numbers. Supports partial reads.",
		func(ctx context.Context, req *sdk.Request[readInput]) (readOutput, error) {
			in := req.Args
			p := filePart{StartLine: in.StartLine, EndLine: in.EndLine, Length: in.Length, Encoding: in.Encoding}
			p.Bytes = in.Offset != nil || in.Length > 0
			if in.Offset != nil {
				p.Offset = *in.Offset
			}
			w, err := readPart(ctx, &req.Environment, m, in.Path, p)
			if err != nil {
				return readOutput{}, convertPathError("read file", in.Path, err)
			}
			out := readOutput{
				Path: w.Path, Content: w.Text, TotalLines: w.totalLines(), StartLine: w.Start, EndLine: w.End, SizeBytes: w.Size,
				Etag: w.Etag, Encoding: w.Encoding, BOM: w.Mark, EOL: w.EOL, Next: w.Next, Note: w.Note,
				Binary: w.Binary, MediaType: w.MediaType, media: w.Media,
			}
			if !w.Binary && !p.Bytes {
				out.Content = text.AddLineNumbers(w.Text, w.Start, max(w.Lines, w.End))
			}
			return out, nil
		},
		sdk.Traits{
			ReadOnly: true, TextResult: true, Sets: []string{moduleSet},
			Permissions: []string{"fs.read"}, Risk: "low",
		})
}
