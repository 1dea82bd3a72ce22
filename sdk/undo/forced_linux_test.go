package undo_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// Undo leaves a file that the user changed while the operation ran. It restores the former one by force, also after
// the user removed theirs. The undo of a forced undo restores the user's.
func TestForcedUndoRestoresFileChangedDuringOperation(t *testing.T) {
	t.Parallel()
	agents := map[string]func(tell func(int, mutation.Kind, string, string), path string) error{
		"write": func(tell func(int, mutation.Kind, string, string), path string) error {
			tell(1, mutation.Write, path, "")
			return write(path, os.O_TRUNC, "agent's")
		},
		"delete": func(tell func(int, mutation.Kind, string, string), path string) error {
			tell(1, mutation.Remove, path, "")
			return os.Remove(path)
		},
		"replace": func(tell func(int, mutation.Kind, string, string), path string) error {
			tell(1, mutation.Write, path+".new", "")
			must(t, write(path+".new", 0, "agent's"))
			tell(1, mutation.Rename, path+".new", path)
			return os.Rename(path+".new", path)
		},
	}
	users := map[string]func(path string) error{
		"write":   func(p string) error { return write(p, os.O_APPEND, "user's") },
		"replace": func(p string) error { return errors.Join(write(p+".user", 0, "user's"), os.Rename(p+".user", p)) },
		"fifo":    func(p string) error { _ = os.Remove(p); return unix.Mkfifo(p, 0o600) },
		"symlink": func(p string) error { _ = os.Remove(p); return os.Symlink("user's", p) },
		"directory": func(p string) error {
			_ = os.Remove(p)
			return errors.Join(os.Mkdir(p, 0o755), write(p+"/in", 0, "user's"))
		},
	}
	for agent, first := range agents {
		for user, second := range users {
			for _, again := range []bool{false, true} {
				w := newWorld(t, 1)
				path := filepath.Join(w.dir, "f")
				must(t, write(path, 0, "was"), os.Chmod(path, 0o640), setTime(path))
				before := w.snapshot()
				var theirs map[string]string
				id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
					must(t, first(tell, path))
					w.recorder.Tick()
					must(t, second(path))
					w.recorder.Tick()
					theirs = w.snapshot()
					if info, _ := os.Lstat(path); again && info.Mode().IsRegular() {
						must(t, agents["replace"](tell, path))
					}
				})
				name := agent + "_" + user
				check := func(text string, q undo.UndoRequest, want map[string]string, hasConflict bool) string {
					done, err := w.store.Undo(t.Context(), w.files, q)
					if now := w.snapshot(); err != nil || isConflict(done, path) != hasConflict || !maps.Equal(withoutDirTimes(now), withoutDirTimes(want)) {
						t.Errorf("%s, again %t: %s: %v, %v: %s", name, again, text, err, done.Conflicts, difference(want, now))
					}
					return done.Ended.ID
				}
				check("undo", undo.UndoRequest{ID: id}, theirs, true)
				forced := check("forced undo", undo.UndoRequest{ID: id, Force: true}, before, false)
				check("undo of the forced undo", undo.UndoRequest{ID: forced}, theirs, false)
				must(t, os.RemoveAll(path))
				check("forced after removal", undo.UndoRequest{ID: id, Force: true}, before, false)
			}
		}
	}
}
