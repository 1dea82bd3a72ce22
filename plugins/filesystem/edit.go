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
	recordedChange
	Diff string `json:"diff,omitempty" jsonschema:"Changes without dry_run"`
}

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
				Path: done.Path, SizeBytes: done.SizeBytes, Etag: done.Etag, Files: done.Files,
				recordedChange: recordedChange{done.Undo, done.Notes}, Diff: done.Diff,
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
	newReplacement := func(path, match, old, new string, count *int) fileTextReplacement {
		return fileTextReplacement{path, match, textReplacement{old: old, new: new, count: maxReplacements(count),
			encoding: in.Encoding, names: textArgumentNames{"old_string", "new_string"}, show: true}}
	}
	if len(in.Edits) == 0 {
		if in.Path == "" || in.OldString == nil || in.NewString == nil {
			return nil, sdk.Errorf(sdk.InvalidArgument, "edit needs path, old_string and new_string, or edits")
		}
		return []fileTextReplacement{newReplacement(in.Path, in.IfMatch, *in.OldString, *in.NewString, in.Count)}, nil
	}
	if in.OldString != nil || in.NewString != nil || in.Count != nil {
		return nil, sdk.Errorf(sdk.InvalidArgument, "give old_string, new_string and count or edits, not both")
	}
	var all []fileTextReplacement
	for _, e := range in.Edits {
		all = append(all, newReplacement(e.Path, e.IfMatch, e.OldString, e.NewString, e.Count))
	}
	return all, completeReplacements(all, in.Path, in.IfMatch)
}

// maxReplacements returns the count to pass to [replace.FindReplacements]. Without an argument it is OnlyOccurrence,
// because the first of several occurrences is probably the wrong one.
func maxReplacements(count *int) int {
	if count == nil {
		return replace.OnlyOccurrence
	}
	return *count
}
