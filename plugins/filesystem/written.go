package main

import "github.com/picoclaw/picoclaw/sdk"

// changedFile tells about a changed file beside the message that is the result.
type changedFile struct {
	fileOutcome
	Undo string `json:"undo,omitempty" jsonschema:"The operation, for undo."`
	Diff string `json:"diff,omitempty" jsonschema:"What a dry run would change."`

	message string
	all     []string
}

// UndoID returns the operation in the undo history.
func (o changedFile) UndoID() string { return o.Undo }

// Text is the message that agents know, and what else is to be known on lines of its own.
func (o changedFile) Text() string {
	if o.Diff != "" {
		return o.Diff
	}
	return withNotes(o.message, o.all)
}

func newChangedFile(message string, out *changeOutcome) changedFile {
	return changedFile{fileOutcome: out.Files[0], Undo: out.Undo, Diff: out.Diff, message: message, all: out.allNotes()}
}

// moduleChange is what the module's tools for writing return.
type moduleChange struct {
	Path      string   `json:"path"`
	SizeBytes int64    `json:"size_bytes"`
	Etag      string   `json:"etag" jsonschema:"Identifies the new contents: if_match of a change wants it"`
	Created   bool     `json:"created,omitempty" jsonschema:"There was no file before"`
	Undo      string   `json:"undo,omitempty" jsonschema:"The operation, for undo"`
	Notes     []string `json:"notes,omitempty" jsonschema:"What else is to be known"`
	Diff      string   `json:"diff,omitempty" jsonschema:"What a dry run would change"`
}

// UndoID returns the operation in the undo history.
func (o moduleChange) UndoID() string { return o.Undo }

func newModuleChange(out *changeOutcome) moduleChange {
	f := out.Files[0]
	return moduleChange{
		Path: f.Path, SizeBytes: f.SizeBytes, Etag: f.Etag, Created: f.Created, Undo: out.Undo, Notes: out.allNotes(),
		Diff: out.Diff,
	}
}

// changeTraits adds the traits of all tools that change files.
func changeTraits(t sdk.Traits) sdk.Traits {
	t.Destructive, t.Risk, t.SideEffects = true, "medium", []string{"filesystem_write"}
	return t
}
