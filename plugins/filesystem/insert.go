package main

import (
	"context"
	"strings"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
	"github.com/picoclaw/picoclaw/sdk"
)

type insertInput struct {
	Path     string `json:"path" jsonschema:"Path to the file" claim:"write"`
	Line     int    `json:"line" jsonschema:"Line number to insert before (1-indexed); number of lines + 1: insert at the end" minimum:"1"`
	Content  string `json:"content" jsonschema:"Lines to insert; a missing last newline is added"`
	IfMatch  string `json:"if_match,omitempty" jsonschema:"Insert only if the file has this etag"`
	DryRun   bool   `json:"dry_run,omitempty" jsonschema:"Return the unified diff without changes"`
	Encoding string `json:"encoding,omitempty" jsonschema:"Encoding, if neither UTF-8 nor named by a byte order mark, such as windows-1252"`
}

type insertOutput struct {
	writeOutput
	Line       int    `json:"line" jsonschema:"First inserted line"`
	Lines      int    `json:"lines" jsonschema:"Number of inserted lines"`
	TotalLines int    `json:"total_lines"`
	Preview    string `json:"preview" jsonschema:"Changed lines with line numbers"`
}

func newInsertTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("insert", "Insert text at a specific line number.",
		func(ctx context.Context, req *sdk.Request[insertInput]) (insertOutput, error) {
			in := req.Args
			i := textInsertion{line: in.Line, content: in.Content, encoding: in.Encoding}
			out, err := m.applyChange(ctx, &req.Environment, changeRequest{
				tool: "insert", doing: "insert into file", dryRun: in.DryRun,
				edits: []fileChange{{path: in.Path, ifMatch: in.IfMatch, must: true, make: i.insertText}},
			})
			if err != nil {
				return insertOutput{}, err
			}
			return insertOutput{
				writeOutput: newWriteOutput(out), Line: in.Line, Lines: i.lines, TotalLines: i.total, Preview: i.preview,
			}, nil
		},
		withChangeTraits(sdk.Traits{Sets: []string{picoclawSet, moduleSet}, Permissions: []string{"fs.read", "fs.write"}}))
}

// textInsertion is text to insert into a file at a line.
type textInsertion struct {
	line     int
	content  string
	encoding string

	lines, total int
	preview      string
}

// insertText returns a file's contents with the text inserted.
func (i *textInsertion) insertText(c *originalFile) ([]byte, error) {
	data, err := c.readBytes()
	if err != nil {
		return nil, err
	}
	enc, err := chooseEncoding(data, i.encoding)
	if err != nil {
		return nil, err
	}
	s, err := enc.Decode(data)
	if err != nil {
		return nil, sdk.Errorf(sdk.InvalidArgument, "failed to insert into file: %v", err)
	}
	if !fitsEncoding(s, enc, i.content) {
		return nil, sdk.Errorf(sdk.InvalidArgument,
			"failed to insert into file: the file is not UTF-8, and content is not plain ASCII; nothing was changed").
			WithHint("name the file's encoding, such as encoding=windows-1252")
	}
	have := text.CountLines(s)
	if i.line > have+1 {
		return nil, sdk.Errorf(sdk.InvalidArgument, "failed to insert into file: there is no line %d; the file has %s",
			i.line, formatLineCount(have)).
			WithHint("line=%d adds to its end", have+1)
	}
	at, ok := text.LineOffset(s, i.line)
	if !ok {
		at = len(s)
	}
	ending := text.LineEndingAt(s, max(at-1, 0))
	added := text.ConvertLineEndings(i.content, ending)
	switch unfinished := s != "" && at == len(s) && !strings.HasSuffix(s, "\n"); {
	case unfinished:
		// Behind a last line without an end: that line gets one, and the file still ends without.
		added = ending + strings.TrimSuffix(strings.TrimSuffix(added, "\n"), "\r")
	case added != "" && !strings.HasSuffix(added, "\n"):
		added += ending
	}
	if data, err = enc.ReplaceRange(data, s, at, at, added); err != nil {
		return nil, sdk.Errorf(sdk.InvalidArgument, "failed to insert into file: %v", err)
	}
	after := s[:at] + added + s[at:]
	i.total = text.CountLines(after)
	i.lines = i.total - have
	if !c.isReadForbidden() {
		i.preview = formatPreview(after, at, at+len(added), 1)
	}
	return data, nil
}
