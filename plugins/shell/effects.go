package main

import (
	"strings"

	"github.com/picoclaw/picoclaw/plugins/shell/internal/sessions"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// commandEffects are the effects of a command on the workspace: changes, refusals and quarantined files.
type commandEffects struct {
	Changes    *workspaceChanges `json:"changes,omitempty"`      // what it has changed
	NotCovered []string          `json:"not_covered,omitempty"`  // what undo can't bring back
	Protected  []string          `json:"protected,omitempty"`    // what it was not allowed to change
	PutAside   []string          `json:"put_aside,omitempty"`    // what it had made and was not to, by the name that it has now
	Brought    []string          `json:"entry_points,omitempty"` // that new repositories have
	Undone     bool              `json:"undone,omitempty"`       // its changes were undone at once

	Conflicts []undo.PathConflict `json:"conflicts,omitempty"` // paths that this left as they are
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
	Undo string `json:"undo,omitempty"` // the operation that undo takes back
	undo.ChangeSummary
}

// describeEffects returns the effects of a finished command as structured result, and as notes.
func describeEffects(o *sessions.WorkspaceEffects) (out commandEffects, notes []string) {
	if c := o.Changes.Changes; c.Made+c.Changed+c.Moved+c.Deleted > 0 {
		out.Changes = &workspaceChanges{Undo: o.Changes.ID, ChangeSummary: c}
	}
	out.NotCovered = o.Changes.Lost
	if o.Changes.Missing != "" {
		out.NotCovered = append([]string{o.Changes.Missing}, o.Changes.Lost...)
	}
	out.Protected, out.PutAside, out.Brought = o.Protected.Refused, o.Protected.Aside, o.Protected.Brought
	notes = o.Protected.FormatNotes()
	if done := o.Undone; done != nil {
		out.Undone, out.Conflicts, out.Changes.Undo = true, done.Conflicts, done.Ended.ID
		notes = append(notes, "git was refused a change and may have left half of its work, so all changes of this command were undone")
		if len(done.Conflicts) > 0 {
			notes = append(notes, undo.FormatConflicts(done.Conflicts))
		}
	}
	if len(out.NotCovered) > 0 {
		notes = append(notes, "not covered by undo: "+strings.Join(out.NotCovered, ", "))
	}
	return out, notes
}
