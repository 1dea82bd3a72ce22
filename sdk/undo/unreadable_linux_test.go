package undo_test

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// An operation takes the permission to read its user's files before it changes them.
func TestUndoRestoresFilesMadeUnreadable(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root reads all files")
	}
	for name, change := range map[string]func(path func(string) string, tell func(int, mutation.Kind, string, string)) error{
		"deleted": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			tell(1, mutation.Attribute, path("f"), "")
			must(t, os.Chmod(path("f"), 0))
			tell(1, mutation.Remove, path("f"), "")
			return os.Remove(path("f"))
		},
		"overwritten": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			tell(1, mutation.Attribute, path("f"), "")
			must(t, os.Chmod(path("f"), 0o200))
			tell(1, mutation.Write, path("f"), "")
			must(t, write(path("f"), os.O_TRUNC, "agent's"))
			w := filepath.Join(filepath.Dir(path("f")), "other")
			tell(1, mutation.Write, w, "")
			return write(w, 0, "agent's")
		},
		"unreadable_before": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			tell(1, mutation.Write, path("closed"), "")
			must(t, write(path("closed"), os.O_TRUNC, "agent's"))
			tell(1, mutation.Remove, path("hidden/f"), "")
			return os.Remove(path("hidden/f"))
		},
		"moved_and_deleted": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			tell(1, mutation.Attribute, path("f"), "")
			must(t, os.Chmod(path("f"), 0o044))
			tell(1, mutation.Rename, path("f"), path("d/in/g"))
			must(t, os.Rename(path("f"), path("d/in/g")))
			tell(1, mutation.Remove, path("d/in/g"), "")
			return os.Remove(path("d/in/g"))
		},
		"directories": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			for _, dir := range []string{"d/in", "d", ""} {
				tell(1, mutation.Attribute, path(dir), "")
				must(t, os.Chmod(path(dir), 0o300))
			}
			tell(1, mutation.Remove, path("d/in/photo"), "")
			must(t, os.Remove(path("d/in/photo")))
			tell(1, mutation.Write, path("d/new"), "")
			must(t, write(path("d/new"), 0, "agent's"))
			for _, dir := range []string{"d/in", "d", ""} {
				tell(1, mutation.Attribute, path(dir), "")
				must(t, os.Chmod(path(dir), 0o755))
			}
			return nil
		},
		"search_only": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			tell(1, mutation.Attribute, path("d/in/photo"), "")
			must(t, os.Chmod(path("d/in/photo"), 0))
			for _, dir := range []string{"d/in", "d"} {
				tell(1, mutation.Attribute, path(dir), "")
				must(t, os.Chmod(path(dir), 0o355))
			}
			tell(1, mutation.Remove, path("d/in/photo"), "")
			return os.Remove(path("d/in/photo"))
		},
	} {
		w := newWorld(t, 1)
		path := func(name string) string { return filepath.Join(w.dir, name) }
		must(t, os.MkdirAll(path("d/in"), 0o755), os.Mkdir(path("hidden"), 0o755))
		for _, file := range []string{"f", "d/in/photo", "closed", "hidden/f"} {
			must(t, write(path(file), 0, "was"), setAttribute(path(file), "was", "0"))
		}
		must(t, os.Link(path("f"), path("g")), os.Chmod(path("closed"), 0o200), os.Chmod(path("hidden"), 0o311))
		look := func() map[string]string { // as root sees them
			must(t, os.Chmod(path("closed"), 0o600), os.Chmod(path("hidden"), 0o711))
			all := w.snapshot()
			for _, file := range []string{"f", "d/in/photo", "closed", "hidden/f"} {
				all[file+" attributes"] = attributes(t, path(file))
			}
			must(t, os.Chmod(path("closed"), 0o200), os.Chmod(path("hidden"), 0o311))
			return all
		}
		before := look()
		w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "exec", Summary: "test", Observe: true})
		must(t, change(path, w.notice))
		w.recorder.Tick()
		ended := w.recorder.End()
		modes := map[string]os.FileMode{}
		for _, name := range []string{"closed", "hidden"} {
			info, err := os.Lstat(path(name))
			must(t, err)
			modes[name] = info.Mode().Perm()
		}
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: ended.ID})
		if now := look(); err != nil || len(ended.Lost)+len(done.Conflicts) > 0 || !maps.Equal(withoutDirTimes(now), withoutDirTimes(before)) ||
			modes["closed"] != 0o200 || modes["hidden"] != 0o311 {
			t.Errorf("%s: %v, lost %v, conflicts %v, modes %v: %s", name, err, ended.Lost, done.Conflicts, modes, difference(before, now))
		}
	}
}

// A later operation that fails to change an unreadable file does not keep undo from restoring it.
func TestUndoAfterFailedChangeOfUnreadableFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	path := filepath.Join(w.dir, "f")
	must(t, write(path, 0, "was"), os.Chmod(path, 0o200))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Write, path, "")
		must(t, write(path, os.O_TRUNC, "agent's"))
	})
	time.Sleep(10 * time.Millisecond)
	operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Remove, path, "")
		tell(1, mutation.Failed, "", "")
		tell(1, mutation.Write, path, "")
		tell(1, mutation.Failed, "", "")
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	must(t, os.Chmod(path, 0o600))
	if data, readErr := os.ReadFile(path); err != nil || len(done.Conflicts) > 0 || string(data) != "was" {
		t.Errorf("%v, %v, %v: %q", err, done.Conflicts, readErr, data)
	}
}
