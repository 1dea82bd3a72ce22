package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/plugins/shell/internal/sessions"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// commandEffects are the effects of a command on the workspace: changes, refusals and quarantined files.
type commandEffects struct {
	Changes     *workspaceChanges `json:"changes,omitempty"`      // changed files
	NotCovered  []string          `json:"not_covered,omitempty"`  // changes that undo can't restore
	Protected   []string          `json:"protected,omitempty"`    // refused changes of protected files
	PutAside    []string          `json:"put_aside,omitempty"`    // new names of quarantined files
	EntryPoints []string          `json:"entry_points,omitempty"` // protected files in new repositories
	Undone      bool              `json:"undone,omitempty"`       // all changes were undone at once

	Conflicts []undo.PathConflict `json:"conflicts,omitempty"` // paths that this undo did not restore
}

// UndoID returns the id in the undo history.
func (e commandEffects) UndoID() string {
	if e.Changes == nil {
		return ""
	}
	return e.Changes.Undo
}

// workspaceChanges lists the files that a command changed in the workspace.
type workspaceChanges struct {
	Undo string `json:"undo,omitempty"` // id of the operation, for undo
	undo.ChangeSummary
}

// describeEffects returns the effects of a finished command as structured result, and as notes.
func describeEffects(o *sessions.WorkspaceEffects) (out commandEffects, notes []string) {
	if c := o.Changes.Changes; c.Made+c.Changed+c.Moved+c.Deleted > 0 {
		out.Changes = &workspaceChanges{Undo: o.Changes.ID, ChangeSummary: c}
	}
	out.NotCovered = o.Changes.Lost
	if o.Changes.Missing != "" && !slices.Contains(o.Changes.Lost, o.Changes.Missing) {
		out.NotCovered = append([]string{o.Changes.Missing}, o.Changes.Lost...)
	}
	out.Protected, out.PutAside, out.EntryPoints = o.Protected.Refused, o.Protected.Aside, o.Protected.EntryPoints
	notes = o.Protected.FormatNotes()
	const half = "git was refused a change and may have left half of its work"
	if done := o.Undone; done != nil && o.UndoError != nil {
		out.Conflicts = done.Conflicts
		notes = append(notes, fmt.Sprintf("%s; undo of this command failed: %v; undo %s tries again", half, o.UndoError, o.Changes.ID))
	} else if done != nil {
		out.Undone, out.Conflicts, out.Changes.Undo = true, done.Conflicts, done.Ended.ID
		notes = append(notes, half+", so all changes of this command were undone")
		if len(done.Conflicts) > 0 {
			notes = append(notes, undo.FormatConflicts(done.Conflicts))
		}
		if len(done.LostMetadata) > 0 {
			notes = append(notes, "restored without some metadata: "+strings.Join(done.LostMetadata, ", "))
		}
	} else if out.Changes != nil && out.Changes.Undo != "" && len(out.Protected) > 0 {
		notes = append(notes, "other changes by the command remain ("+strings.Join(out.Changes.Names, ", ")+"); undo of "+out.Changes.Undo+" reverts them")
	}
	if len(out.NotCovered) > 0 {
		notes = append(notes, "not covered by undo: "+strings.Join(out.NotCovered, ", "))
	}
	return out, notes
}
