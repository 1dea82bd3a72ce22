package undo_test

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// A forced undo deletes no files of the user that it can't save, and changes nothing before it finds them.
func TestForcedUndoKeepsUnsavableFiles(t *testing.T) {
	t.Parallel()
	replaceByDir := func(w *world, path string) {
		w.notice(1, mutation.Remove, path, "")
		must(w.t, os.Remove(path))
		w.notice(1, mutation.Make, path, "")
		must(w.t, os.Mkdir(path, 0o755))
	}
	large := strings.Repeat("u", 30_000)
	for name, c := range map[string]struct {
		change    func(w *world, path string) // by the operation
		user      func(path string) error
		isForced  bool // the undo restores the file
		saysWhere string
	}{
		"large_file_in_new_directory": {replaceByDir, func(path string) error { return write(filepath.Join(path, "u"), 0, large) }, false, "u: 30000 bytes"},
		"socket_in_new_directory": {replaceByDir, func(path string) error {
			return unix.Mknod(filepath.Join(path, "u"), unix.S_IFSOCK|0o600, 0)
		}, false, "u: a device or a socket"},
		"large_file_in_place_of_file": {func(w *world, path string) {
			w.notice(1, mutation.Write, path, "")
			must(w.t, write(path, 0, "new"))
		}, func(path string) error { return write(path, 0, large) }, false, "30000 bytes"},
		"small_file_in_new_directory": {replaceByDir, func(path string) error { return write(filepath.Join(path, "u"), 0, "user's") }, true, ""},
		"renamed_file_that_grew": {func(w *world, path string) {
			w.notice(1, mutation.Rename, path, path+"2")
			must(w.t, os.Rename(path, path+"2"))
		}, func(path string) error { return write(path+"2", 0, large) }, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			store, err := undo.Open(undo.StoreOptions{Dir: t.TempDir(), MaxBytes: 80_000})
			must(t, err)
			t.Cleanup(store.Close)
			w.store = store
			path := filepath.Join(w.dir, "f")
			must(t, write(path, 0, "former"))
			id := operation(w, func(func(int, mutation.Kind, string, string)) { c.change(w, path) })
			must(t, c.user(path))
			before := w.snapshot()
			done, err := store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Force: true})
			must(t, err)
			info, err := os.Lstat(path)
			must(t, err)
			switch {
			case c.isForced && (len(done.Conflicts) > 0 || !info.Mode().IsRegular()):
				t.Errorf("%v, %v", done.Conflicts, info.Mode())
			case !c.isForced && (len(done.Conflicts) != 1 || !strings.Contains(done.Conflicts[0].Reason, c.saysWhere) || !maps.Equal(before, w.snapshot())):
				t.Errorf("%v: %s", done.Conflicts, difference(before, w.snapshot()))
			}
		})
	}
}
