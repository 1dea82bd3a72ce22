package main

import (
	"context"
	"fmt"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
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
			if given != nil && given.IsPassthrough() && len(given.Mark) == 0 {
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
			return newFileChangeOutput(fmt.Sprintf("File written: %s", hiddentext.QuoteUnprintable(in.Path)), out), nil
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

// fileChangeOutput is the result of write_file and append_file: a message as text, and facts about the file.
type fileChangeOutput struct {
	changedFileInfo
	Undo string `json:"undo,omitempty" jsonschema:"ID of the operation, for undo."`
	Diff string `json:"diff,omitempty" jsonschema:"Changes without dry_run."`

	message string
	all     []string
}

// UndoID returns the id in the undo history.
func (o fileChangeOutput) UndoID() string { return o.Undo }

// Text returns the diff of a dry run, or the message with the notes.
func (o fileChangeOutput) Text() string {
	if o.Diff != "" {
		return o.Diff
	}
	return withNotes(o.message, o.all)
}

func newFileChangeOutput(message string, out *changeResult) fileChangeOutput {
	return fileChangeOutput{changedFileInfo: out.Files[0], Undo: out.Undo, Diff: out.Diff, message: message, all: out.allNotes()}
}

// writeOutput is the structured result of write and insert.
type writeOutput struct {
	Path      string `json:"path"`
	SizeBytes int64  `json:"size_bytes"`
	Etag      string `json:"etag" jsonschema:"Etag of the new contents, for if_match of a change"`
	Created   bool   `json:"created,omitempty" jsonschema:"The file is new"`
	recordedChange
	Diff string `json:"diff,omitempty" jsonschema:"Changes without dry_run"`
}

func newWriteOutput(out *changeResult) writeOutput {
	f := out.Files[0]
	return writeOutput{
		Path: f.Path, SizeBytes: f.SizeBytes, Etag: f.Etag, Created: f.Created,
		recordedChange: recordedChange{out.Undo, out.allNotes()}, Diff: out.Diff,
	}
}

// withChangeTraits adds the traits that all tools which change files share.
func withChangeTraits(t sdk.Traits) sdk.Traits {
	t.Destructive, t.Risk, t.SideEffects = true, "medium", []string{"filesystem_write"}
	return t
}
