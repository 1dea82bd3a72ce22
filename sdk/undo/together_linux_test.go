package undo_test

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// What the user writes to a file right after the operation wrote to it, or tried to, stays.
func TestUndoSparesWritesRightAfterItsOwn(t *testing.T) {
	t.Parallel()
	for name, agent := range map[string]func(w *world, path string) error{
		"written": func(w *world, path string) error {
			w.notice(1, mutation.Write, path, "")
			return write(path, os.O_TRUNC, "agent's")
		},
		"open_failed": func(w *world, path string) error {
			w.notice(1, mutation.Attribute, path, "")
			err := os.Chmod(path, 0o600)
			w.notice(1, mutation.Write, path, "") // nothing follows
			w.notice(1, mutation.Remove, path+".none", "")
			return err
		},
		"length_of_unreadable_file_set": func(w *world, path string) error {
			w.notice(1, mutation.Write, path, "")
			must(w.t, write(path, os.O_TRUNC, "agent's"))
			w.notice(1, mutation.Attribute, path, "")
			must(w.t, os.Chmod(path, 0o200))
			w.notice(1, mutation.Write, path, "")
			err := unix.Truncate(path, 3)
			w.notice(1, mutation.Remove, path+".none", "")
			return err
		},
		"length_set": func(w *world, path string) error {
			w.notice(1, mutation.Write, path, "")
			err := unix.Truncate(path, 3)
			w.notice(1, mutation.Remove, path+".none", "")
			return err
		},
	} {
		for _, users := range []bool{true, false} {
			w := newWorld(t, 1)
			path := filepath.Join(w.dir, "f")
			if err := write(path, os.O_TRUNC, "before"); err != nil {
				t.Fatal(err)
			}
			w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "exec", Summary: "test", Observe: true})
			if err := agent(w, path); err != nil {
				t.Fatal(err)
			}
			want := "before"
			if users {
				if err := write(path, os.O_TRUNC, "user's"); err != nil {
					t.Fatal(err)
				}
				want = "user's"
			}
			ended := w.recorder.End()
			done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: ended.ID})
			if err != nil || !users && len(done.Conflicts) > 0 {
				t.Errorf("%s, user writes %v: %v, conflicts %v", name, users, err, done.Conflicts)
			}
			_ = os.Chmod(path, 0o600)
			if got, err := os.ReadFile(path); string(got) != want {
				t.Errorf("%s, user writes %v: %q, %v; conflicts %v", name, users, got, err, done.Conflicts)
			}
		}
	}
}
