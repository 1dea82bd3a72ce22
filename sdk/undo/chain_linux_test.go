package undo_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// An operation can be undone after others that moved or linked its files and took that back themselves.
func TestUndoAfterUnchangingOperations(t *testing.T) {
	t.Parallel()
	for name, changesOther := range map[string]bool{"with_another_change": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			file, other := filepath.Join(w.dir, "f"), filepath.Join(w.dir, "g")
			must(t, write(file, os.O_TRUNC, "before"))
			first := operation(w, func(tell func(int, mutation.Kind, string, string)) {
				tell(1, mutation.Write, file, "")
				must(t, write(file, os.O_TRUNC, "after"))
			})
			second := operation(w, func(tell func(int, mutation.Kind, string, string)) {
				if changesOther {
					tell(1, mutation.Write, other, "")
					must(t, write(other, os.O_TRUNC, "x"))
				}
				for _, pair := range [][2]string{{file, file + "2"}, {file + "2", file}} {
					tell(1, mutation.Rename, pair[0], pair[1])
					must(t, os.Rename(pair[0], pair[1]))
				}
			})
			listed := 0
			must(t, w.store.EachOperation(func(*undo.Operation) bool { listed++; return true }))
			if wanted := map[bool]int{true: 2, false: 1}[changesOther]; listed != wanted || changesOther != (second != "") {
				t.Errorf("the history lists %d operations; the second is %q", listed, second)
			}
			for _, id := range []string{second, first} {
				if id == "" {
					continue
				}
				if done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id}); err != nil || len(done.Conflicts) > 0 {
					t.Errorf("undo of %q: %v, conflicts %v", id, err, done.Conflicts)
				}
			}
			if got, err := os.ReadFile(file); string(got) != "before" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// Operations are undone one after another although two undos leave a file in one state.
func TestUndoOfOperationsWithOneState(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	file, other := filepath.Join(w.dir, "f"), filepath.Join(w.dir, "g")
	must(t, write(file, os.O_TRUNC, "before"))
	var ids []string
	for _, change := range []func(tell func(int, mutation.Kind, string, string)){
		func(tell func(int, mutation.Kind, string, string)) {
			tell(1, mutation.Write, file, "")
			must(t, write(file, os.O_TRUNC, "after"))
		},
		func(tell func(int, mutation.Kind, string, string)) {
			tell(1, mutation.Attribute, file, "")
			must(t, os.Chmod(file, 0o644)) // as it is
		},
		func(tell func(int, mutation.Kind, string, string)) {
			tell(1, mutation.Rename, file, other)
			must(t, os.Rename(file, other))
		},
	} {
		ids = append(ids, operation(w, change))
	}
	for _, id := range slices.Backward(ids) {
		if done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id}); err != nil || len(done.Conflicts) > 0 {
			t.Errorf("undo of %q: %v, conflicts %v", id, err, done.Conflicts)
		}
	}
	if got, err := os.ReadFile(file); string(got) != "before" {
		t.Errorf("%q, %v", got, err)
	}
}
