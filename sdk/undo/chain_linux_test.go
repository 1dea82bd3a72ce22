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
func TestUndoAfterOperationsThatChangeNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	file, other := filepath.Join(w.dir, "f"), filepath.Join(w.dir, "g")
	record := func(change func() error) string {
		w.recorder = w.store.Record(w.files, undo.RecordOptions{Tool: "exec", Summary: "test", Observe: true})
		if err := change(); err != nil {
			t.Fatal(err)
		}
		return w.recorder.End().ID
	}
	if err := write(file, os.O_TRUNC, "before"); err != nil {
		t.Fatal(err)
	}
	first := record(func() error {
		w.notice(1, mutation.Write, file, "")
		return write(file, os.O_TRUNC, "after")
	})
	second := record(func() error {
		w.notice(1, mutation.Write, other, "")
		if err := write(other, os.O_TRUNC, "x"); err != nil {
			return err
		}
		for _, pair := range [][2]string{{file, file + "2"}, {file + "2", file}} {
			w.notice(1, mutation.Rename, pair[0], pair[1])
			if err := os.Rename(pair[0], pair[1]); err != nil {
				return err
			}
		}
		return nil
	})
	for _, id := range []string{second, first} {
		if done, err := w.store.Undo(t.Context(), w.files, undo.Request{ID: id}); err != nil || len(done.Conflicts) > 0 {
			t.Errorf("undo of %q: %v, conflicts %v", id, err, done.Conflicts)
		}
	}
	if got, err := os.ReadFile(file); string(got) != "before" {
		t.Errorf("%q, %v", got, err)
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
		if done, err := w.store.Undo(t.Context(), w.files, undo.Request{ID: id}); err != nil || len(done.Conflicts) > 0 {
			t.Errorf("undo of %q: %v, conflicts %v", id, err, done.Conflicts)
		}
	}
	if got, err := os.ReadFile(file); string(got) != "before" {
		t.Errorf("%q, %v", got, err)
	}
}
