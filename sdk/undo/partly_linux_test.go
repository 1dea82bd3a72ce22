package undo_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// extentOf returns how much of an operation is undone.
func extentOf(t *testing.T, w *world, id string) (extent undo.UndoStatus) {
	t.Helper()
	extents := undo.UndoStatuses{}
	err := w.store.EachOperation(func(op *undo.Operation) bool {
		is := extents.Add(op)
		if op.ID == id {
			extent = is
		}
		return op.ID != id
	})
	if err != nil {
		t.Fatal(err)
	}
	return extent
}

func must(t *testing.T, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestSecondUndoRestoresFormerConflicts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	dir, file, link := filepath.Join(w.dir, "d"), filepath.Join(w.dir, "f"), filepath.Join(w.dir, "l")
	must(t, os.Mkdir(dir, 0o750), write(filepath.Join(dir, "a"), 0, "a"), write(file, 0, "f"), os.Link(file, link))
	before := w.snapshot()
	w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "exec", Observe: true})
	tell := func(kind mutation.Kind, path, to string) { w.notice(1, kind, path, to) }
	mark := func(...string) {}
	w.removeAll(dir, tell, mark)
	w.removeAll(file, tell, mark)
	w.removeAll(link, tell, mark)
	made := filepath.Join(w.dir, "n")
	tell(mutation.Make, made, "")
	must(t, os.Mkdir(made, 0o755))
	tell(mutation.Write, filepath.Join(made, "c"), "")
	must(t, write(filepath.Join(made, "c"), 0, "c"))
	id := w.recorder.End().ID

	must(t, write(link, 0, "user's"))
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	if err != nil || len(done.Conflicts) != 1 || extentOf(t, w, id) != undo.ExtentPart {
		t.Fatalf("%v, %v, extent %d", err, done.Conflicts, extentOf(t, w, id))
	}
	must(t, os.Remove(link))
	done, err = w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	if err != nil || len(done.Conflicts) > 0 || len(done.Paths) != 1 {
		t.Fatalf("%v, %v, %v", err, done.Conflicts, done.Paths)
	}
	if now := w.snapshot(); !maps.Equal(withoutDirTimes(now), withoutDirTimes(before)) {
		t.Error(difference(before, now))
	}
	if extent := extentOf(t, w, id); extent != undo.ExtentWhole {
		t.Errorf("extent %d", extent)
	}
}

// The directory that the operation made and deleted comes back with the user's file.
func TestUndoRestoresFileMovedIntoNewDirectory(t *testing.T) {
	t.Parallel()
	for _, kill := range []bool{false, true} {
		w := newWorld(t, 1)
		mine, dir := filepath.Join(w.dir, "mine"), filepath.Join(w.dir, "d")
		must(t, write(mine, 0, "mine"))
		w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "exec", Observe: true})
		for _, path := range []string{dir, filepath.Join(dir, "e")} {
			w.notice(1, mutation.Make, path, "")
			must(t, os.Mkdir(path, 0o755))
		}
		w.recorder.Tick()
		moved := filepath.Join(dir, "e", "mine")
		must(t, os.Rename(mine, moved))
		w.removeAll(dir, func(kind mutation.Kind, path, to string) { w.notice(1, kind, path, to) }, func(...string) {})
		var id string
		if kill {
			id = w.recorder.Kill()
		} else {
			id = w.recorder.End().ID
		}
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Force: kill})
		if data, _ := os.ReadFile(moved); err != nil || string(data) != "mine" {
			t.Errorf("killed %t: %v, %v, %v: %q", kill, err, done.Paths, done.Conflicts, data)
		}
	}
}

func TestForceUndoesAppendAfterUserAppended(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	path := filepath.Join(w.dir, "f")
	must(t, write(path, 0, "was"))
	w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "append_file"})
	w.recorder.NoteAppend(path)
	temp := filepath.Join(w.dir, "temp") // as tools write
	must(t, write(temp, 0, "was+agent"), os.Rename(temp, path))
	id := w.recorder.End().ID
	must(t, write(path, os.O_APPEND, "+user"))
	if done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id}); err != nil || len(done.Conflicts) != 1 {
		t.Errorf("%v, %v", err, done.Conflicts)
	}
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Force: true})
	if data, _ := os.ReadFile(path); err != nil || string(data) != "was" {
		t.Errorf("%v, %v: %q", err, done.Conflicts, data)
	}
}

// Changes that an operation made after a forced undo are listed, and a second undo restores the files.
func TestUndoOfRunningOperationIsPartial(t *testing.T) {
	t.Parallel()
	for _, again := range []bool{false, true} { // whether the operation changes a file again that undo restored
		w := newWorld(t, 1)
		path := func(name string) string { return filepath.Join(w.dir, name) }
		must(t, write(path("a"), 0, "a"), write(path("b"), 0, "b"), os.Mkdir(path("d"), 0o750))
		before := w.snapshot()
		w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "exec", Observe: true})
		w.notice(1, mutation.Write, path("a"), "")
		must(t, write(path("a"), os.O_TRUNC, "agent's"))
		w.recorder.Tick()
		var id string
		must(t, w.store.EachOperation(func(op *undo.Operation) bool { id = op.ID; return false }))
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Force: true})
		if err != nil || len(done.Paths) != 1 || extentOf(t, w, id) != undo.ExtentWhole {
			t.Fatalf("%v, %v, extent %d", err, done.Paths, extentOf(t, w, id))
		}
		w.recorder.Tick()
		w.removeAll(path("b"), func(kind mutation.Kind, path, to string) { w.notice(1, kind, path, to) }, func(...string) {})
		w.notice(1, mutation.Remove, path("d"), "")
		must(t, os.Remove(path("d")))
		if again {
			w.notice(1, mutation.Write, path("a"), "")
			must(t, write(path("a"), os.O_APPEND, "again"))
		}
		w.recorder.End()
		if extent := extentOf(t, w, id); extent != undo.ExtentPart {
			t.Errorf("extent %d", extent)
		}
		if done, err = w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id}); again { // it restores the user's state between
			done, err = w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
		}
		if now := w.snapshot(); err != nil || len(done.Conflicts) > 0 || !maps.Equal(withoutDirTimes(now), withoutDirTimes(before)) {
			t.Errorf("again %v: %v, %v: %s", again, err, done.Conflicts, difference(before, now))
		}
		if extent := extentOf(t, w, id); extent != undo.ExtentWhole {
			t.Errorf("extent %d", extent)
		}
	}
}
