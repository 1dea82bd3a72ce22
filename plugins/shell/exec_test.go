package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/plugins/shell/internal/sessions"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

func TestUndoIDOfCommand(t *testing.T) {
	done := commandEffects{Changes: &workspaceChanges{Undo: "1"}}
	for name, out := range map[string]interface{ UndoID() string }{
		"exec": execOutput{commandEffects: done}, "process": processToolOutput{commandEffects: done},
	} {
		if out.UndoID() != "1" {
			t.Errorf("%s: the undo id is %q", name, out.UndoID())
		}
	}
	if id := (execOutput{}).UndoID(); id != "" {
		t.Errorf("without changes the undo id is %q", id)
	}
}

func TestConflictsOfRefusedGitAreData(t *testing.T) {
	conflicts := make([]undo.PathConflict, 40)
	for i := range conflicts {
		conflicts[i] = undo.PathConflict{Path: fmt.Sprintf("/w/f%d", i), Reason: "has changed since"}
	}
	o := sessions.WorkspaceEffects{Undone: &undo.UndoResult{Conflicts: conflicts}}
	o.Changes.Changes.Changed = 40
	out, notes := describeEffects(&o)
	if !slices.Equal(out.Conflicts, conflicts) {
		t.Errorf("the conflicts are %v", out.Conflicts)
	}
	if text := strings.Join(notes, "\n"); strings.Count(text, "/w/f") != 3 || !strings.Contains(text, "40 paths") {
		t.Errorf("the notes are %s", text)
	}
}

// The result of a command says when picoclaw could not undo it.
func TestFailedUndoOfRefusedGitIsNamed(t *testing.T) {
	o := sessions.WorkspaceEffects{Undone: &undo.UndoResult{}, UndoError: errors.New("no space")}
	o.Changes.ID, o.Changes.Missing, o.Changes.Lost = "20261121T051354282482850-fzaj", "f (large)", []string{"f (large)"}
	o.Changes.Changes.Made = 1
	out, notes := describeEffects(&o)
	if text := strings.Join(notes, "\n"); out.Undone || out.UndoID() != o.Changes.ID || !strings.Contains(text, "no space") || !strings.Contains(text, "undo "+o.Changes.ID) {
		t.Errorf("undone %v, %q; the notes are %s", out.Undone, out.UndoID(), text)
	}
	if len(out.NotCovered) != 1 {
		t.Errorf("not covered: %q", out.NotCovered)
	}
}
