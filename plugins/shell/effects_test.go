package main

import (
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
