package undo_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// isConflict reports whether an undo named a path.
func isConflict(done undo.UndoResult, path string) bool {
	return slices.ContainsFunc(done.Conflicts, func(c undo.PathConflict) bool { return c.Path == path })
}

func TestUndoNamesAllHardLinks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent, user func(path string) error
		kind        mutation.Kind
		isNamed     bool
	}{
		"write_and_write":   {agent: func(p string) error { return write(p, os.O_TRUNC, "agent's") }, user: func(p string) error { return write(p, os.O_APPEND, "+") }, kind: mutation.Write, isNamed: true},
		"mode_and_time":     {agent: func(p string) error { return os.Chmod(p, 0o600) }, user: setTime, kind: mutation.Attribute, isNamed: true},
		"write_and_delete":  {agent: func(p string) error { return write(p, os.O_TRUNC, "agent's") }, user: os.Remove, kind: mutation.Write, isNamed: true},
		"write_and_replace": {agent: func(p string) error { return write(p, os.O_TRUNC, "agent's") }, user: func(p string) error { _ = write(p+".2", 0, "user's"); return os.Rename(p+".2", p) }, kind: mutation.Write, isNamed: true},
		"delete_and_create": {agent: os.Remove, user: func(p string) error { return write(p, 0, "user's") }, kind: mutation.Remove},
	} {
		w := newWorld(t, 1)
		path := func(name string) string { return filepath.Join(w.dir, name) }
		must(t, os.Mkdir(path("d"), 0o755), write(path("f"), 0, "was"), os.Link(path("f"), path("d/g")), os.Link(path("f"), path("h")), write(path("other"), 0, "was"))
		id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
			tell(1, c.kind, path("f"), "")
			must(t, c.agent(path("f")))
			tell(1, mutation.Write, path("other"), "")
			must(t, write(path("other"), os.O_TRUNC, "agent's"))
		})
		must(t, c.user(path("f")))
		left := w.snapshot()
		planned, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, DryRun: true})
		must(t, err)
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
		now := w.snapshot()
		for _, link := range []string{"f", "d/g", "h"} {
			named := isConflict(done, path(link))
			if named != (c.isNamed || link == "f") || isConflict(planned, path(link)) != named || now["/"+link] != left["/"+link] {
				t.Errorf("%s: %s: %v, %v: %s", name, link, err, done.Conflicts, difference(left, now))
			}
		}
		if data, _ := os.ReadFile(path("other")); err != nil || string(data) != "was" {
			t.Errorf("%s: %v, %q", name, err, data)
		}
	}
}

// A hard link that an operation renamed comes back although the other name of its file has another file since.
func TestUndoKeepsRenamedLinkOfReplacedFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	path := func(name string) string { return filepath.Join(w.dir, name) }
	must(t, write(path("f"), 0, "was"), os.Link(path("f"), path("g")))
	first := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Attribute, path("f"), "")
		tell(1, mutation.Rename, path("g"), path("a"))
		must(t, os.Rename(path("g"), path("a")))
	})
	second := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Write, path("new"), "")
		must(t, write(path("new"), 0, "agent's"))
		tell(1, mutation.Rename, path("new"), path("f"))
		must(t, os.Rename(path("new"), path("f")))
		tell(1, mutation.Write, path("a"), "")
		must(t, write(path("a"), os.O_TRUNC, "agent's"))
	})
	must(t, write(path("f"), os.O_TRUNC, "user's"))
	for _, id := range []string{second, first} {
		if _, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id}); err != nil {
			t.Error(err)
		}
	}
	for name, want := range map[string]string{"f": "user's", "g": "was"} {
		if data, err := os.ReadFile(path(name)); string(data) != want {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
}

// setImmutable sets or clears the flag of a directory that keeps everybody from changing names in it. It reports
// whether that succeeded.
func setImmutable(path string, is bool) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }()
	const immutable = 0x10
	flags, err := unix.IoctlGetInt(int(f.Fd()), unix.FS_IOC_GETFLAGS)
	if err != nil {
		return false
	}
	if flags &^= immutable; is {
		flags |= immutable
	}
	return unix.IoctlSetPointerInt(int(f.Fd()), unix.FS_IOC_SETFLAGS, flags) == nil
}

func TestUndoNamesRefusedPathsAndRestoresOthers(t *testing.T) {
	t.Parallel()
	remove := func(path func(string) string, tell func(int, mutation.Kind, string, string), names ...string) error {
		for _, name := range names {
			tell(1, mutation.Remove, path(name), "")
			if err := os.Remove(path(name)); err != nil {
				return err
			}
		}
		return nil
	}
	for name, agent := range map[string]func(path func(string) string, tell func(int, mutation.Kind, string, string)) error{
		"deleted_file": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			return remove(path, tell, "d/f")
		},
		"deleted_link": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			return remove(path, tell, "d/l")
		},
		"deleted_symlink_fifo_and_dir": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			return remove(path, tell, "d/s", "d/p", "d/e/in", "d/e")
		},
		"created": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			tell(1, mutation.Write, path("d/new"), "")
			if err := write(path("d/new"), 0, "new"); err != nil {
				return err
			}
			tell(1, mutation.Make, path("d/dir"), "")
			return os.Mkdir(path("d/dir"), 0o755)
		},
		"moved": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			tell(1, mutation.Rename, path("d/f"), path("moved"))
			if err := os.Rename(path("d/f"), path("moved")); err != nil {
				return err
			}
			tell(1, mutation.Rename, path("d/e"), path("e"))
			return os.Rename(path("d/e"), path("e"))
		},
		"moved_in": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			tell(1, mutation.Rename, path("x"), path("d/x"))
			return os.Rename(path("x"), path("d/x"))
		},
		"replaced": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			tell(1, mutation.Write, path("d/temp"), "")
			if err := write(path("d/temp"), 0, "agent's"); err != nil {
				return err
			}
			tell(1, mutation.Rename, path("d/temp"), path("d/f"))
			return os.Rename(path("d/temp"), path("d/f"))
		},
		"deleted_below": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			tell(1, mutation.Remove, path("d/g"), "")
			return errors.Join(os.Remove(path("d/g")), remove(path, tell, "d/e/in"))
		},
		"mode_of_dir": func(path func(string) string, tell func(int, mutation.Kind, string, string)) error {
			tell(1, mutation.Attribute, path("d"), "")
			return os.Chmod(path("d"), 0o700)
		},
	} {
		w := newWorld(t, 1)
		path := func(name string) string { return filepath.Join(w.dir, name) }
		must(t, os.MkdirAll(path("d/e"), 0o755), write(path("d/e/in"), 0, "in"), write(path("d/f"), 0, "f"), write(path("d/g"), 0, "g"), write(path("link"), 0, "l"), os.Link(path("link"), path("d/l")),
			os.Symlink("f", path("d/s")), unix.Mkfifo(path("d/p"), 0o600), write(path("a"), 0, "a"), write(path("z"), 0, "z"), write(path("x"), 0, "x"))
		before := w.snapshot()
		id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
			tell(1, mutation.Write, path("a"), "")
			must(t, write(path("a"), os.O_TRUNC, "agent's"), agent(path, tell), remove(path, tell, "z"))
		})
		if !setImmutable(path("d"), true) {
			t.Skip("only root on some file systems can set flags")
		}
		left := w.snapshot()
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
		setImmutable(path("d"), false)
		now := w.snapshot()
		for at, text := range before {
			if now[at] != text && withoutLinks(now[at]) != withoutLinks(text) && at != "" && at != "/d" && !isConflict(done, w.dir+at) && !isConflict(done, filepath.Dir(w.dir+at)) {
				t.Errorf("%s: %s is not named: %v, %v", name, at, err, done.Conflicts)
			}
		}
		if name == "deleted_below" && now["/d/e/in"] != before["/d/e/in"] {
			t.Errorf("%s: %v", name, done.Conflicts)
		}
		if all := w.leftovers(); err != nil || len(all) > 0 || now["/a"] != before["/a"] || now["/z"] != before["/z"] || len(done.Conflicts)+len(done.LostMetadata) == 0 {
			t.Errorf("%s: %v, %v, %v, %v: %s", name, err, done.Conflicts, done.LostMetadata, all, difference(left, now))
		}
		if len(done.Conflicts) == 0 {
			continue
		}
		done, err = w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
		if now := w.snapshot(); err != nil || len(done.Conflicts) > 0 || !equalBesidesDirTimes(now, before) {
			t.Errorf("%s, later: %v, %v: %s", name, err, done.Conflicts, difference(before, now))
		}
	}
}

// Undo moves a directory back from which the operation deleted a device, and names the device.
func TestUndoNamesDeletedDevice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	path := func(name string) string { return filepath.Join(w.dir, name) }
	must(t, os.Mkdir(path("d"), 0o755), write(path("d/f"), 0, "f"), unix.Mknod(path("d/c"), unix.S_IFCHR|0o600, 0), unix.Mknod(path("e"), unix.S_IFCHR|0o600, 0))
	before := w.snapshot()
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Rename, path("d"), path("moved"))
		must(t, os.Rename(path("d"), path("moved")))
		tell(1, mutation.Remove, path("moved/c"), "")
		must(t, os.Remove(path("moved/c")))
		tell(1, mutation.Write, path("new"), "")
		must(t, write(path("new"), 0, "agent's"))
		tell(1, mutation.Rename, path("new"), path("e"))
		must(t, os.Rename(path("new"), path("e")))
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	delete(before, "/d/c")
	delete(before, "/e")
	if now := w.snapshot(); err != nil || len(done.Conflicts) != 2 || !isConflict(done, path("d/c")) || !isConflict(done, path("e")) || !equalBesidesDirTimes(now, before) {
		t.Errorf("%v, %v: %s", err, done.Conflicts, difference(before, now))
	}
}

// A cancelled undo ends with an error and not with a conflict for each path.
func TestCancelledUndoFails(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	path := filepath.Join(w.dir, "f")
	must(t, write(path, 0, "was"))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Write, path, "")
		must(t, write(path, os.O_TRUNC, "agent's"))
	})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if done, err := w.store.Undo(ctx, w.files, undo.UndoRequest{ID: id}); !errors.Is(err, context.Canceled) || len(done.Conflicts) > 0 {
		t.Errorf("%v, %v", err, done.Conflicts)
	}
}

// equalBesidesDirTimes reports whether two snapshots differ at most in the times of directories.
func equalBesidesDirTimes(a, b map[string]string) bool {
	return difference(withoutDirTimes(a), withoutDirTimes(b)) == ""
}

func TestUndoRestoresSpecialFiles(t *testing.T) {
	t.Parallel()
	device := func(path string) error { return unix.Mknod(path, unix.S_IFCHR|0o640, 0) }
	fifo := func(path string) error { return unix.Mkfifo(path, 0o640) }
	socket := func(path string) error { return unix.Mknod(path, unix.S_IFSOCK|0o640, 0) }
	mode := func(path string) error { return os.Chmod(path, 0o600) }
	for kind, create := range map[string]func(string) error{"device": device, "fifo": fifo, "socket": socket} {
		for change, agent := range map[string]func(string) error{"mode": mode, "time": setTime} {
			for _, conflict := range []bool{false, true} {
				w := newWorld(t, 1)
				path := func(name string) string { return filepath.Join(w.dir, name) }
				must(t, create(path("n")), os.Link(path("n"), path("link")), write(path("a"), 0, "a"), write(path("z"), 0, "z"), write(path("u"), 0, "u"))
				before := w.snapshot()
				id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
					for _, name := range []string{"a", "u", "z"} {
						tell(1, mutation.Write, path(name), "")
						must(t, write(path(name), os.O_TRUNC, "agent's"))
					}
					tell(1, mutation.Attribute, path("n"), "")
					must(t, agent(path("n")))
					tell(1, mutation.Remove, path("link"), "")
					must(t, os.Remove(path("link")))
				})
				if conflict {
					must(t, write(path("u"), os.O_TRUNC, "user's"))
					before["/u"] = w.snapshot()["/u"]
				}
				done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
				if now := w.snapshot(); err != nil || isConflict(done, path("u")) != conflict || len(done.Conflicts) > 1 || !equalBesidesDirTimes(now, before) {
					t.Errorf("%s, %s, conflict %t: %v, %v, %v: %s", kind, change, conflict, err, done.Conflicts, done.LostMetadata, difference(before, now))
				}
			}
		}
	}
}

// A user replaces the first name of a file, and the operation deletes the second: the former metadata is named.
func TestUndoNamesMetadataOfReplacedLink(t *testing.T) {
	t.Parallel()
	for kind, create := range map[string]func(string) error{
		"fifo": func(p string) error { return unix.Mkfifo(p, 0o640) },
		"file": func(p string) error { return write(p, 0, "was") },
	} {
		for change, agent := range map[string]func(string) error{"time": setTime, "mode": func(p string) error { return os.Chmod(p, 0o600) }} {
			w := newWorld(t, 1)
			first, second := filepath.Join(w.dir, "one"), filepath.Join(w.dir, "two")
			must(t, create(first), os.Link(first, second))
			before := w.snapshot()
			id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
				tell(1, mutation.Attribute, first, "")
				must(t, agent(first))
				w.recorder.Tick()
				must(t, write(first+".2", 0, "user's"), os.Rename(first+".2", first))
				w.recorder.Tick()
				tell(1, mutation.Remove, second, "")
				must(t, os.Remove(second))
			})
			done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
			if now := w.snapshot(); err != nil || withoutLinks(now["/two"]) != withoutLinks(before["/two"]) && !isConflict(done, second) {
				t.Errorf("%s, %s: %v, %v: %s", kind, change, err, done.Conflicts, difference(before, now))
			}
		}
	}
}

// Both names of a file are named if undo may not write to the file.
func TestUndoNamesAllLinksOfProtectedFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	first, second := filepath.Join(w.dir, "one"), filepath.Join(w.dir, "two")
	must(t, write(first, 0, "was"), os.Link(first, second))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		for _, path := range []string{first, second} {
			tell(1, mutation.Write, path, "")
			must(t, write(path, os.O_TRUNC, "agent's"))
		}
	})
	left := w.snapshot()
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Permit: func(mutation.FileMutation) error { return os.ErrPermission }})
	if now := w.snapshot(); err != nil || !isConflict(done, first) || !isConflict(done, second) || difference(left, now) != "" {
		t.Errorf("%v, %v: %s", err, done.Conflicts, difference(left, now))
	}
}
