package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/replace"
	"github.com/picoclaw/picoclaw/sdk"
)

type editFileInput struct {
	Path     string                `json:"path,omitempty" jsonschema:"The file path to edit." claim:"write"`
	OldText  *string               `json:"old_text,omitempty" jsonschema:"The exact text to find and replace. Must appear exactly once in the file."`
	NewText  *string               `json:"new_text,omitempty" jsonschema:"The text to replace with."`
	Edits    []editFileReplacement `json:"edits,omitempty" jsonschema:"Replacements in one or more files, instead of old_text and new_text; all or none are made."`
	IfMatch  string                `json:"if_match,omitempty" jsonschema:"Edit only if the file has this etag."`
	DryRun   bool                  `json:"dry_run,omitempty" jsonschema:"Return the unified diff without changes."`
	Encoding string                `json:"encoding,omitempty" jsonschema:"Encoding, if neither UTF-8 nor named by a byte order mark, such as windows-1252."`
}

type editFileReplacement struct {
	Path    string `json:"path,omitempty" jsonschema:"File path; default: the outer path." claim:"write"`
	OldText string `json:"old_text" jsonschema:"The exact text to find and replace. Must appear exactly once, after the edits before this one."`
	NewText string `json:"new_text" jsonschema:"The text to replace with."`
	IfMatch string `json:"if_match,omitempty" jsonschema:"Edit only if the file had this etag before this call."`
}

func newEditFileTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("edit_file", "Edit a file by replacing old text with new text. The old text must match exactly. "+
		"Takes path, old_text and new_text, or edits for several places.",
		func(ctx context.Context, req *sdk.Request[editFileInput]) (editFileOutput, error) {
			wanted, err := req.Args.parseReplacements()
			if err != nil {
				return editFileOutput{}, err
			}
			return m.applyReplacements(ctx, &req.Environment, "edit_file", wanted, req.Args.DryRun)
		},
		withChangeTraits(sdk.Traits{Sets: []string{picoclawSet}, TextResult: true, Permissions: []string{"fs.read", "fs.write"}}))
}

// fileTextReplacement is a requested replacement of text in a file.
type fileTextReplacement struct {
	path, ifMatch string
	textReplacement
}

func (in *editFileInput) parseReplacements() ([]fileTextReplacement, error) {
	newReplacement := func(path, match, old, new string) fileTextReplacement {
		return fileTextReplacement{path, match, textReplacement{old: old, new: new, count: replace.OnlyOccurrence,
			encoding: in.Encoding, names: textArgumentNames{"old_text", "new_text"}}}
	}
	if len(in.Edits) == 0 {
		if in.Path == "" || in.OldText == nil || in.NewText == nil {
			return nil, sdk.Errorf(sdk.InvalidArgument, "edit_file needs path, old_text and new_text, or edits")
		}
		return []fileTextReplacement{newReplacement(in.Path, in.IfMatch, *in.OldText, *in.NewText)}, nil
	}
	if in.OldText != nil || in.NewText != nil {
		return nil, sdk.Errorf(sdk.InvalidArgument, "give old_text and new_text or edits, not both")
	}
	var all []fileTextReplacement
	for _, e := range in.Edits {
		all = append(all, newReplacement(e.Path, e.IfMatch, e.OldText, e.NewText))
	}
	return all, completeReplacements(all, in.Path, in.IfMatch)
}

// completeReplacements sets the path and etag of edits without their own to those that all edits share.
func completeReplacements(all []fileTextReplacement, path, ifMatch string) error {
	for i := range all {
		w := &all[i]
		if w.path != "" && w.path != path {
			continue
		}
		if path == "" {
			return sdk.Errorf(sdk.InvalidArgument, "edits[%d] has no path, and the call has none", i)
		}
		w.path, w.ifMatch = path, cmp.Or(w.ifMatch, ifMatch)
	}
	return nil
}

// editFileOutput is the result of a tool that edits files.
type editFileOutput struct {
	changedFileInfo
	Files []changedFileInfo `json:"files,omitempty" jsonschema:"All changed files, if several."`
	Undo  string            `json:"undo,omitempty" jsonschema:"ID of the operation, for undo."`
	Diff  string            `json:"diff,omitempty" jsonschema:"Changes without dry_run."`

	text     string
	replaced []fileTextReplacement
}

// UndoID returns the id in the undo history.
func (o editFileOutput) UndoID() string { return o.Undo }

// Text returns a message per file, and the notes.
func (o editFileOutput) Text() string { return o.text }

// applyReplacements makes all replacements or none.
func (m *pluginState) applyReplacements(ctx context.Context, env *sdk.Environment, tool string, wanted []fileTextReplacement,
	dryRun bool) (editFileOutput, error) {
	c := changeRequest{tool: tool, doing: "edit file", dryRun: dryRun}
	matched := map[string]bool{}
	for i := range wanted {
		w := &wanted[i]
		e := fileChange{path: w.path, must: true, ifMatch: w.ifMatch, make: w.replaceText}
		if matched[w.path] {
			e.ifMatch = "" // it is about the file as it was before the first
		}
		matched[w.path] = true
		if len(wanted) > 1 {
			e.make = func(v *originalFile) ([]byte, error) {
				data, err := w.replaceText(v)
				return data, withEditIndex(err, i, w.path)
			}
		}
		c.edits = append(c.edits, e)
	}
	out, err := m.applyChange(ctx, env, c)
	if err != nil {
		return editFileOutput{}, err
	}
	result := editFileOutput{changedFileInfo: out.Files[0], Undo: out.Undo, Diff: out.Diff, replaced: wanted}
	if len(out.Files) > 1 {
		result.Files = out.Files
	}
	notes := out.allNotes()
	var messages []string
	for _, w := range wanted {
		message := fmt.Sprintf("File edited: %s", hiddentext.QuoteUnprintable(w.path))
		if len(messages) == 0 || messages[len(messages)-1] != message {
			messages = append(messages, message)
		}
		if w.note != "" {
			notes = append(notes, w.note)
			result.Notes = append(result.Notes, w.note)
		}
	}
	result.text = withNotes(strings.Join(messages, "\n"), notes)
	if dryRun {
		result.text = withNotes(strings.TrimSuffix(out.Diff, "\n"), notes)
	}
	return result, nil
}

// withEditIndex adds the number of the failed edit to an error.
func withEditIndex(err error, i int, path string) error {
	own, ok := err.(*sdk.Error) //nolint:errorlint // made here, never wrapped
	if !ok {
		return err
	}
	with := *own
	with.Message = fmt.Sprintf("edits[%d], %s: %s", i, hiddentext.QuoteUnprintable(path), own.Message)
	return &with
}
