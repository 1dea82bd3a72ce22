package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/sdk"
)

type readInput struct {
	Path      string `json:"path" jsonschema:"Path to the file" claim:"read"`
	StartLine int    `json:"start_line,omitempty" jsonschema:"First line (1-indexed)" default:"1" minimum:"1"`
	EndLine   int    `json:"end_line,omitempty" jsonschema:"Last line (1-indexed); default: the file's last line" minimum:"1"`
	Encoding  string `json:"encoding,omitempty" jsonschema:"Text encoding; a byte order mark has priority" default:"utf-8"`
	Offset    *int64 `json:"offset,omitempty" jsonschema:"First byte, from 0, instead of lines, for very long lines" minimum:"0"`
	Length    int64  `json:"length,omitempty" jsonschema:"Number of bytes" minimum:"1"`
}

type readOutput struct {
	Path       string           `json:"path"`
	Content    string           `json:"content" jsonschema:"Lines with line numbers"`
	TotalLines *int             `json:"total_lines,omitempty" jsonschema:"Number of lines; absent for files over 1 GiB"`
	StartLine  int              `json:"start_line"`
	EndLine    int              `json:"end_line"`
	SizeBytes  int64            `json:"size_bytes"`
	Etag       string           `json:"etag,omitempty" jsonschema:"Etag of these contents, for if_match of a change. Absent for bytes of a long binary file, and for a file over 1 GiB with a very recent change"`
	Encoding   string           `json:"encoding,omitempty"`
	BOM        bool             `json:"bom,omitempty"`
	EOL        string           `json:"eol,omitempty" jsonschema:"Line endings: lf, crlf, mixed or none"`
	Next       *nextPartRequest `json:"next,omitempty" jsonschema:"Arguments for the next part of the file"`
	Note       string           `json:"note,omitempty"`
	Binary     bool             `json:"binary,omitempty" jsonschema:"The content is a description of the file"`
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
			p := requestedPart{StartLine: in.StartLine, EndLine: in.EndLine, Length: in.Length, Encoding: in.Encoding}
			p.Bytes = in.Offset != nil || in.Length > 0
			if in.Offset != nil {
				p.Offset = *in.Offset
			}
			w, err := readPart(ctx, &req.Environment, m, in.Path, p)
			if err != nil {
				return readOutput{}, newPathFailureError("read file", in.Path, err)
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

// maxHexBytes limits the bytes of a binary file in one result.
const maxHexBytes = 4 << 10

// setBinaryDescription sets the window's text to a description of a binary file. An image becomes the window's media.
func (w *fileWindow) setBinaryDescription(data []byte) {
	w.Binary = true
	w.MediaType = http.DetectContentType(data)
	w.Text = formatBinarySummary(w.Size, w.MediaType, sha256.Sum256(data))
	switch w.MediaType {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		if len(data) <= maxImage {
			w.Media = data
			w.Text = fmt.Sprintf("image file, %d bytes, %s", w.Size, w.MediaType)
		}
	}
}

func formatBinarySummary(size int64, kind string, sum [sha256.Size]byte) string {
	return fmt.Sprintf("binary file, %d bytes, %s, sha256 %x; its bytes are not shown", size, kind, sum)
}

// readHex sets the window's text to the requested bytes in hexadecimal.
func (w *fileWindow) readHex(f io.ReaderAt, head []byte, p requestedPart) error {
	from := min(p.Offset, w.Size)
	data := make([]byte, min(p.byteCount(), maxHexBytes, w.Size-from))
	n, err := f.ReadAt(data, from)
	if err != nil && err != io.EOF {
		return err
	}
	data = data[:n]
	w.Binary, w.MediaType, w.asked = true, http.DetectContentType(head), true
	w.Text = fmt.Sprintf("binary file, %d bytes, %s; of these %d from %d on, in hexadecimal:\n% x", w.Size, w.MediaType, n,
		from, data)
	if end := from + int64(n); end < w.Size {
		w.Next = &nextPartRequest{Offset: &end}
	}
	return nil
}
