package main

import "github.com/picoclaw/picoclaw/sdk"

// fileChangeOutput is the result of edit_file, write_file and append_file: a message as text, and facts about the file.
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
	Path      string   `json:"path"`
	SizeBytes int64    `json:"size_bytes"`
	Etag      string   `json:"etag" jsonschema:"Etag of the new contents, for if_match of a change"`
	Created   bool     `json:"created,omitempty" jsonschema:"The file is new"`
	Undo      string   `json:"undo,omitempty" jsonschema:"ID of the operation, for undo"`
	Notes     []string `json:"notes,omitempty" jsonschema:"Notes"`
	Diff      string   `json:"diff,omitempty" jsonschema:"Changes without dry_run"`
}

// UndoID returns the id in the undo history.
func (o writeOutput) UndoID() string { return o.Undo }

func newWriteOutput(out *changeResult) writeOutput {
	f := out.Files[0]
	return writeOutput{
		Path: f.Path, SizeBytes: f.SizeBytes, Etag: f.Etag, Created: f.Created, Undo: out.Undo, Notes: out.allNotes(),
		Diff: out.Diff,
	}
}

// withChangeTraits adds the traits that all tools which change files share.
func withChangeTraits(t sdk.Traits) sdk.Traits {
	t.Destructive, t.Risk, t.SideEffects = true, "medium", []string{"filesystem_write"}
	return t
}
