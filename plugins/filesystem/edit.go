package main

import (
	"context"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/replace"
	"github.com/picoclaw/picoclaw/sdk"
)

type editInput struct {
	Path      string             `json:"path,omitempty" jsonschema:"Path to the file" claim:"write"`
	OldString *string            `json:"old_string,omitempty" jsonschema:"Exact text to find"`
	NewString *string            `json:"new_string,omitempty" jsonschema:"Replacement text"`
	Count     *int               `json:"count,omitempty" jsonschema:"Occurrences to replace, from the first (0 = all). Not given, there must be exactly 1." minimum:"0"`
	Edits     []replacementInput `json:"edits,omitempty" jsonschema:"Replacements in one or more files, instead of old_string and new_string; all or none are made"`
	IfMatch   string             `json:"if_match,omitempty" jsonschema:"Edit only if the file has this etag"`
	DryRun    bool               `json:"dry_run,omitempty" jsonschema:"Return the unified diff without changes"`
	Encoding  string             `json:"encoding,omitempty" jsonschema:"Encoding, if neither UTF-8 nor named by a byte order mark, such as windows-1252"`
}

type replacementInput struct {
	Path      string `json:"path,omitempty" jsonschema:"File path; default: the outer path" claim:"write"`
	OldString string `json:"old_string" jsonschema:"Exact text to find, after the edits before this one"`
	NewString string `json:"new_string" jsonschema:"Replacement text"`
	Count     *int   `json:"count,omitempty" jsonschema:"Occurrences to replace, from the first (0 = all). Not given, there must be exactly 1." minimum:"0"`
	IfMatch   string `json:"if_match,omitempty" jsonschema:"Edit only if the file had this etag before this call"`
}

type editOutput struct {
	Path         string            `json:"path"`
	Replacements int               `json:"replacements"`
	Preview      string            `json:"preview" jsonschema:"Changed lines with line numbers"`
	SizeBytes    int64             `json:"size_bytes"`
	Etag         string            `json:"etag" jsonschema:"Etag of the new contents, for if_match of a change"`
	Files        []changedFileInfo `json:"files,omitempty" jsonschema:"All changed files, if several"`
	Undo         string            `json:"undo,omitempty" jsonschema:"ID of the operation, for undo"`
	Notes        []string          `json:"notes,omitempty" jsonschema:"Notes"`
	Diff         string            `json:"diff,omitempty" jsonschema:"Changes without dry_run"`
}

// UndoID returns the id in the undo history.
func (o editOutput) UndoID() string { return o.Undo }

func newEditTool(m *pluginState) sdk.Tool {
	return sdk.NewTool("edit", "Replace a specific text block (old_string -> new_string). Returns a preview with line numbers. "+
		"Takes path, old_string and new_string, or edits for several places.",
		func(ctx context.Context, req *sdk.Request[editInput]) (editOutput, error) {
			wanted, err := req.Args.parseReplacements()
			if err != nil {
				return editOutput{}, err
			}
			done, err := m.applyReplacements(ctx, &req.Environment, "edit", wanted, req.Args.DryRun)
			if err != nil {
				return editOutput{}, err
			}
			out := editOutput{
				Path: done.Path, SizeBytes: done.SizeBytes, Etag: done.Etag, Files: done.Files, Undo: done.Undo,
				Notes: done.Notes, Diff: done.Diff,
			}
			for i, w := range done.replaced {
				out.Replacements += w.times
				if i > 0 {
					out.Preview += "\n"
				}
				out.Preview += w.preview
			}
			return out, nil
		},
		withChangeTraits(sdk.Traits{Sets: []string{moduleSet}, TextResult: true, Permissions: []string{"fs.read", "fs.write"}}))
}

func (in *editInput) parseReplacements() ([]fileTextReplacement, error) {
	names := textArgumentNames{"old_string", "new_string"}
	if len(in.Edits) == 0 {
		if in.Path == "" || in.OldString == nil || in.NewString == nil {
			return nil, sdk.Errorf(sdk.InvalidArgument, "edit needs path, old_string and new_string, or edits")
		}
		return []fileTextReplacement{{in.Path, in.IfMatch, textReplacement{
			old: *in.OldString, new: *in.NewString, count: maxReplacements(in.Count), encoding: in.Encoding, names: names, show: true,
		}}}, nil
	}
	if in.OldString != nil || in.NewString != nil || in.Count != nil {
		return nil, sdk.Errorf(sdk.InvalidArgument, "give old_string, new_string and count or edits, not both")
	}
	all := make([]fileTextReplacement, len(in.Edits))
	for i, item := range in.Edits {
		path, match, err := editPathAndEtag(i, item.Path, in.Path, item.IfMatch, in.IfMatch)
		if err != nil {
			return nil, err
		}
		all[i] = fileTextReplacement{path, match, textReplacement{
			old: item.OldString, new: item.NewString, count: maxReplacements(item.Count), encoding: in.Encoding, names: names,
			show: true,
		}}
	}
	return all, nil
}

// maxReplacements returns the count to pass to [replace.FindReplacements]. Without an argument it is OnlyOccurrence,
// because the first of several occurrences is probably the wrong one.
func maxReplacements(count *int) int {
	if count == nil {
		return replace.OnlyOccurrence
	}
	return *count
}
