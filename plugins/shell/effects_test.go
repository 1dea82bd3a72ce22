package main

import "testing"

func TestUndoIDOfCommand(t *testing.T) {
	done := effects{Changes: &changes{Undo: "1"}}
	for name, out := range map[string]interface{ UndoID() string }{
		"exec": execOutput{effects: done}, "process": processOutput{effects: done},
	} {
		if out.UndoID() != "1" {
			t.Errorf("%s: the undo id is %q", name, out.UndoID())
		}
	}
	if id := (execOutput{}).UndoID(); id != "" {
		t.Errorf("without changes the undo id is %q", id)
	}
}
