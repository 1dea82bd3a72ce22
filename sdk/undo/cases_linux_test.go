package undo_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// operation makes changes in a world and ends: tell announces a change of a thread. It returns the id.
func operation(w *world, change func(tell func(thread int, kind mutation.Kind, path, to string))) string {
	w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "exec", Summary: "test", Observe: true})
	change(w.notice)
	return w.recorder.End().ID
}

func exchange(a, b string) error {
	return unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
}

func setTime(path string) error {
	times := []unix.Timespec{{Sec: 1e9}, {Sec: 1e9}}
	return unix.UtimesNanoAt(unix.AT_FDCWD, path, times, unix.AT_SYMLINK_NOFOLLOW)
}

func TestUndoRestoresLinkedObjects(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		make   func(path string) error
		change func(w *world, path, link string) // path and link are names of one object
	}{
		"time_of_symlink_whose_name_is_deleted": {
			func(path string) error { return os.Symlink("target", path) },
			func(w *world, path, _ string) {
				w.notice(1, mutation.Attribute, path, "")
				must(w.t, setTime(path))
				w.notice(1, mutation.Remove, path, "")
				must(w.t, os.Remove(path))
			},
		},
		"mode_of_file_that_gets_a_name": {
			func(path string) error { return os.WriteFile(path, []byte("text"), 0o444) },
			func(w *world, path, _ string) {
				w.notice(1, mutation.Link, path, path+"2")
				must(w.t, os.Link(path, path+"2"))
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			path, link := filepath.Join(w.dir, "f"), filepath.Join(w.dir, "l")
			must(t, c.make(path), os.Link(path, link))
			before := w.snapshot()
			id := operation(w, func(func(int, mutation.Kind, string, string)) { c.change(w, path, link) })
			done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
			if now := w.snapshot(); err != nil || len(done.Conflicts) > 0 || !maps.Equal(now, before) {
				t.Errorf("%v, %v: %s", err, done.Conflicts, difference(before, now))
			}
		})
	}
}

// A call that ends does not take the effects of other threads' calls with it.
func TestUndoTellsThreadsApart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	dir := filepath.Join(w.dir, "d")
	must(t, os.Mkdir(dir, 0o755))
	before := w.snapshot()
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Attribute, dir, "") // fails
		tell(2, mutation.Attribute, dir, "")
		tell(1, mutation.Remove, dir+"/none", "")
		must(t, os.Chmod(dir, 0o700))
		tell(1, mutation.Remove, dir+"/none", "")
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	if now := w.snapshot(); err != nil || len(done.Conflicts) > 0 || !maps.Equal(now, before) {
		t.Errorf("%v, %v: %s", err, done.Conflicts, difference(before, now))
	}
}

// The user links to a file that the operation changed, and writes to it: all of its names stay as they are.
func TestUndoSparesAllNamesOfFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	first, second, users := filepath.Join(w.dir, "a"), filepath.Join(w.dir, "b"), filepath.Join(w.dir, "u")
	must(t, os.WriteFile(first, []byte("before"), 0o600), os.Link(first, second))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		for _, path := range []string{first, second} {
			tell(1, mutation.Write, path, "")
			must(t, os.WriteFile(path, []byte("agent's"), 0o600))
		}
		tell(1, mutation.Remove, users, "") // fails
		w.recorder.Tick()
		must(t, os.Link(first, users))
		w.recorder.Tick()
		must(t, os.WriteFile(users, []byte("user's"), 0o600))
		w.recorder.Tick()
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	for _, path := range []string{first, second, users} {
		if data, readErr := os.ReadFile(path); err != nil || string(data) != "user's" {
			t.Errorf("%s: %v, %v, %v: %q", filepath.Base(path), err, readErr, done.Conflicts, data)
		}
	}
}

// A directory of the operation's stays where the user put something into it, not where it was made.
func TestUndoKeepsNewDirectoryWhereUserUsedIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	made, moved, users := filepath.Join(w.dir, "made"), filepath.Join(w.dir, "moved"), filepath.Join(w.dir, "u")
	must(t, os.Mkdir(users, 0o755))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Make, made, "")
		must(t, os.Mkdir(made, 0o755))
		tell(1, mutation.Rename, made, moved)
		must(t, os.Rename(made, moved))
		w.recorder.Tick()
		must(t, os.Rename(users, filepath.Join(moved, "u")))
		w.recorder.Tick()
		tell(1, mutation.Remove, filepath.Join(moved, "u"), "")
		must(t, os.Remove(filepath.Join(moved, "u")))
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	info, statErr := os.Stat(filepath.Join(moved, "u"))
	if _, madeErr := os.Lstat(made); err != nil || statErr != nil || !info.IsDir() || madeErr == nil {
		t.Errorf("%v, %v, %v, %v", err, statErr, madeErr, done.Conflicts)
	}
}

// A second undo by force leaves nothing under a name of its own, although the object has all its names back.
func TestForceLeavesNothingAside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	path := func(name string) string { return filepath.Join(w.dir, name) }
	must(t, write(path("x"), 0, "x"), write(path("b"), 0, "b"), write(path("n"), 0, "n"))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		swap := func(a, b string) {
			tell(1, mutation.Exchange, path(a), path(b))
			must(t, exchange(path(a), path(b)))
		}
		tell(1, mutation.Write, path("n"), "") // so that its contents are kept
		must(t, write(path("n"), 0, "N"))
		swap("x", "b")
		tell(1, mutation.Link, path("b"), path("a"))
		must(t, os.Link(path("b"), path("a")))
		swap("n", "a")
	})
	must(t, os.Remove(path("a")))
	for _, force := range []bool{false, true} {
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Force: force})
		if all := w.leftovers(); err != nil || len(all) > 0 {
			t.Errorf("force %v: %v, %v: %v", force, err, done.Conflicts, all)
		}
	}
}

// Attributes of a directory that the user changed since stay, the others are restored.
func TestUndoRestoresAttributesOneByOne(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	dir := filepath.Join(w.dir, "d")
	at := time.Unix(1e9, 0)
	must(t, os.Mkdir(dir, 0o755), os.Chtimes(dir, at, at))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Write, filepath.Join(dir, "f"), "")
		must(t, write(filepath.Join(dir, "f"), 0, "f"))
	})
	must(t, os.Chmod(dir, 0o750))
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	if info, statErr := os.Stat(dir); err != nil || statErr != nil || info.Mode().Perm() != 0o750 || !info.ModTime().Equal(at) {
		t.Errorf("%v, %v, %v: %v", err, statErr, done.Conflicts, info)
	}
}

// A directory that the operation moved and the user deleted is a conflict, and not made again without its contents.
func TestUndoNamesMovedDirectoryThatUserDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	dir, moved := filepath.Join(w.dir, "d"), filepath.Join(w.dir, "m")
	must(t, os.MkdirAll(filepath.Join(dir, "sub"), 0o755), write(filepath.Join(dir, "sub", "f"), 0, "f"))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Rename, dir, moved)
		must(t, os.Rename(dir, moved))
		w.recorder.Tick()
		must(t, os.RemoveAll(moved))
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	if _, statErr := os.Lstat(dir); err != nil || statErr == nil || len(done.Conflicts) == 0 || done.Conflicts[0].Path != dir {
		t.Errorf("%v, %v, conflicts %v", err, statErr, done.Conflicts)
	}
}

// A call that fails with the names as they are can succeed after another thread's call. Its effects are undone or named.
func TestUndoRestoresOrNamesWhenThreadsRace(t *testing.T) {
	t.Parallel()
	type call struct {
		kind     mutation.Kind
		path, to string
		run      func(path, to string) error
	}
	create := func(path, _ string) error { return write(path, os.O_TRUNC, "agent's") }
	remove := func(path, _ string) error { return os.Remove(path) }
	for name, c := range map[string]struct{ failing, other call }{
		"rename_of_new_file":         {call{mutation.Rename, "new", "x", os.Rename}, call{mutation.Write, "new", "", create}},
		"rename_of_renamed_file":     {call{mutation.Rename, "new", "x", os.Rename}, call{mutation.Rename, "y", "new", os.Rename}},
		"rename_over_removed_dir":    {call{mutation.Rename, "x", "d", os.Rename}, call{mutation.Remove, "d", "", remove}},
		"removal_of_renamed_file":    {call{mutation.Remove, "new", "", remove}, call{mutation.Rename, "x", "new", os.Rename}},
		"mkdir_at_removed_file":      {call{mutation.Make, "x", "", func(path, _ string) error { return os.Mkdir(path, 0o755) }}, call{mutation.Remove, "x", "", remove}},
		"link_at_removed_file":       {call{mutation.Link, "y", "x", os.Link}, call{mutation.Remove, "x", "", remove}},
		"exchange_with_renamed_file": {call{mutation.Exchange, "new", "x", exchange}, call{mutation.Rename, "y", "new", os.Rename}},
		"mode_of_renamed_file":       {call{mutation.Rename, "x", "new", os.Rename}, call{mutation.Attribute, "new", "", nil}},
		"mode_of_new_file":           {call{mutation.Attribute, "new", "", func(path, _ string) error { return os.Chmod(path, 0o700) }}, call{mutation.Write, "new", "", create}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, 1)
			path := func(name string) string {
				if name == "" {
					return ""
				}
				return filepath.Join(w.dir, name)
			}
			must(t, write(path("x"), 0, "user's x"), write(path("y"), 0, "user's y"), os.Mkdir(path("d"), 0o755))
			before := w.snapshot()
			id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
				for thread, c := range []call{c.failing, c.other} {
					tell(1+thread, c.kind, path(c.path), path(c.to))
				}
				for _, c := range []call{c.other, c.failing} {
					if c.run != nil {
						must(t, c.run(path(c.path), path(c.to)))
					}
				}
				if c.other.run == nil {
					must(t, os.Chmod(path("new"), 0o700), unix.Setxattr(path("new"), "user.k", []byte("v"), 0))
				}
			})
			done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
			now := w.snapshot()
			if n, _ := unix.Getxattr(path("x"), "user.k", nil); n > 0 && len(done.Conflicts) == 0 {
				t.Error("undo left an attribute")
			}
			for _, name := range []string{"x", "y", "d", "new"} {
				isNamed := slices.ContainsFunc(done.Conflicts, func(c undo.PathConflict) bool { return c.Path == path(name) })
				if err != nil || now["/"+name] != before["/"+name] && !isNamed {
					t.Errorf("%s: %v, %v: %s", name, err, done.Conflicts, difference(before, now))
				}
			}
		})
	}
}

// A file whose contents are kept is opened again when one thread renames it and another writes to its new name.
func TestUndoRestoresFileWrittenDuringRename(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	from, to := filepath.Join(w.dir, "a"), filepath.Join(w.dir, "b")
	must(t, write(from, 0, "before"))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Write, from, "")
		must(t, write(from, os.O_TRUNC, "agent's first text"))
		tell(2, mutation.Rename, from, to)
		tell(1, mutation.Write, to, "")
		must(t, os.Rename(from, to), write(to, os.O_TRUNC, "agent's second, longer text"))
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	if data, readErr := os.ReadFile(from); err != nil || string(data) != "before" {
		t.Errorf("%v, %v, %v: %q", err, readErr, done.Conflicts, data)
	}
}

// A new directory that the user deleted with a file of the user's in it is not made again.
func TestUndoLeavesOutDirectoryThatUserDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	dir := filepath.Join(w.dir, "d")
	inner := filepath.Join(dir, "e", "f")
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		for _, path := range []string{dir, filepath.Dir(inner), inner} {
			tell(1, mutation.Make, path, "")
			must(t, os.Mkdir(path, 0o755))
		}
		w.recorder.Tick()
		must(t, write(filepath.Join(inner, "c"), 0, "user's"))
		w.recorder.Tick()
		for _, path := range []string{filepath.Join(inner, "c"), inner, filepath.Dir(inner)} {
			tell(1, mutation.Remove, path, "")
			must(t, os.Remove(path))
		}
		w.recorder.Tick()
		must(t, os.Remove(dir))
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	if now := w.snapshot(); err != nil || len(now) != 1 || len(done.Conflicts) == 0 {
		t.Errorf("%v, conflicts %v: %v", err, done.Conflicts, now)
	}
}

// A write that failed because another thread renamed the file does not explain the user's write to the file.
func TestUndoSparesWriteAfterFailedOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	from, to := filepath.Join(w.dir, "a"), filepath.Join(w.dir, "b")
	must(t, write(from, 0, "before"))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Write, from, "") // fails
		tell(2, mutation.Rename, from, to)
		must(t, os.Rename(from, to))
		for thread := range 2 {
			tell(1+thread, mutation.Remove, from+".none", "")
		}
		must(t, write(to, os.O_APPEND, ", user's"))
		w.recorder.Tick()
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Force: true})
	data, _ := os.ReadFile(from)
	if there, readErr := os.ReadFile(to); err != nil || string(there) != "before, user's" && string(data) != "before, user's" {
		t.Errorf("%v, %v, %v: %q, %q", err, readErr, done.Conflicts, data, there)
	}
}

// A directory that the user moved while the operation ran, and the operation deleted there, is made again there only.
func TestUndoRestoresDirectoryWhereUserMovedIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	first, moved, users := filepath.Join(w.dir, "n"), filepath.Join(w.dir, "m"), filepath.Join(w.dir, "u", "b")
	must(t, os.Mkdir(first, 0o755), os.Mkdir(filepath.Dir(users), 0o755))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Rename, first, moved)
		must(t, os.Rename(first, moved))
		w.recorder.Tick()
		must(t, os.Rename(moved, users))
		w.recorder.Tick()
		tell(1, mutation.Remove, users, "")
		must(t, os.Remove(users))
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	info, statErr := os.Stat(users)
	if _, firstErr := os.Lstat(first); err != nil || statErr != nil || info.Mode().Perm() != 0o755 || firstErr == nil ||
		!slices.ContainsFunc(done.Conflicts, func(c undo.PathConflict) bool { return c.Path == first }) {
		t.Errorf("%v, %v, %v, %v: %v", err, statErr, firstErr, info, done.Conflicts)
	}
}

// Undo works in more directories than it keeps open.
func TestUndoInManyDirectories(t *testing.T) {
	t.Parallel()
	for _, count := range []int{30, 31, 32, 33, 70} {
		w := newWorld(t, 1)
		var files []string
		for _, name := range []string{"f", "g"} {
			for i := range count {
				files = append(files, filepath.Join(w.dir, strconv.Itoa(i), "sub", name))
			}
		}
		for _, path := range files {
			must(t, os.MkdirAll(filepath.Dir(path), 0o755), write(path, 0, "was"))
		}
		before := w.snapshot()
		id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
			for i, path := range files {
				tell(1, mutation.Write, path, "")
				if must(t, write(path, os.O_TRUNC, "agent's")); i%3 == 0 {
					tell(1, mutation.Rename, path, files[(i+7)%len(files)]+".new")
					must(t, os.Rename(path, files[(i+7)%len(files)]+".new"))
				}
			}
		})
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
		if now := w.snapshot(); err != nil || len(done.Conflicts) > 0 || !maps.Equal(now, before) {
			t.Errorf("%d directories: %v, %v: %.500s", count, err, done.Conflicts, difference(before, now))
		}
	}
}

// Changes by a descriptor of a file that had no name when it was linked are the operation's.
func TestUndoOfLinkedUnnamedFile(t *testing.T) {
	t.Parallel()
	for _, users := range []bool{false, true} {
		for name, change := range map[string]func(f *os.File) error{
			"write": func(f *os.File) error { _, err := f.WriteString("more"); return err },
			"mode":  func(f *os.File) error { return f.Chmod(0o600) },
			"time":  func(f *os.File) error { return unix.Futimes(int(f.Fd()), []unix.Timeval{{Sec: 1}, {Sec: 1}}) },
			"size":  func(f *os.File) error { return f.Truncate(1) },
		} {
			w := newWorld(t, 1)
			path, other := filepath.Join(w.dir, "f"), filepath.Join(w.dir, "other")
			id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
				fd, err := unix.Open(w.dir, unix.O_TMPFILE|unix.O_RDWR, 0o640)
				must(t, err)
				f := os.NewFile(uintptr(fd), "unnamed")
				tell(1, mutation.Link, "", path)
				must(t, unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, path, unix.AT_SYMLINK_FOLLOW))
				for _, dir := range []string{other, filepath.Join(other, "in")} {
					tell(1, mutation.Make, dir, "")
					must(t, os.Mkdir(dir, 0o755))
				}
				w.recorder.Tick()
				must(t, change(f), f.Close())
				w.recorder.Tick()
				if users {
					must(t, write(path, os.O_APPEND, "user's"))
					w.recorder.Tick()
				}
			})
			done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
			if _, statErr := os.Lstat(path); err != nil || (len(done.Conflicts) > 0) != users || (statErr == nil) != users {
				t.Errorf("%s, user writes %v: %v, %v, %v", name, users, err, done.Conflicts, statErr)
			}
		}
	}
}

// A path is counted once although the user changed it between two changes of the operation.
func TestChangedPathIsCountedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	path := filepath.Join(w.dir, "a")
	must(t, write(path, 0, "was"))
	w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "exec", Observe: true})
	for _, text := range []string{"1", "2", "3"} {
		w.notice(1, mutation.Write, path, "")
		must(t, write(path, os.O_TRUNC, text))
		w.recorder.Tick()
		must(t, write(path+".u", os.O_TRUNC, "user's"), os.Rename(path+".u", path))
		w.recorder.Tick()
	}
	w.notice(1, mutation.Write, path, "")
	must(t, write(path, os.O_TRUNC, "4"))
	ended := w.recorder.End()
	if ended.Changes.Changed != 1 || len(ended.Changes.Names) != 1 {
		t.Errorf("%+v", ended.Changes)
	}
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: ended.ID})
	if data, _ := os.ReadFile(path); err != nil || string(data) != "user's" || len(done.Conflicts) == 0 || !strings.Contains(done.Conflicts[0].Reason, "only another change") {
		t.Errorf("%v, %v, %v: %q", err, done.Paths, done.Conflicts, data)
	}
}

// Undo keeps new git objects if a ref, HEAD or the index changed after the operation, because these may need them.
func TestUndoKeepsObjectsOfChangedRepository(t *testing.T) {
	t.Parallel()
	for _, changed := range []string{"", "refs/heads/keep", "index", "HEAD", "packed-refs", "worktrees/w/HEAD", "../../.git/refs/heads/main", "description"} {
		w := newWorld(t, 1)
		path := func(name string) string { return filepath.Join(w.dir, "sub", ".git", name) }
		must(t, os.MkdirAll(path("refs/heads"), 0o755), os.Mkdir(path("objects"), 0o755), os.MkdirAll(path("worktrees/w"), 0o755),
			os.MkdirAll(path("../../.git/refs/heads"), 0o755), write(path("worktrees/w/HEAD"), 0, "1"), write(path("HEAD"), 0, "ref: refs/heads/main"),
			write(path("index"), 0, "1"), write(path("refs/heads/main"), 0, "1"))
		begin, now := time.Now(), time.Time{}
		for now.Sub(begin) < 50*time.Millisecond { // the files are older than the operation
			must(t, write(path("clock"), os.O_TRUNC, "1"))
			info, err := os.Lstat(path("clock"))
			must(t, err)
			now = info.ModTime()
		}
		id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
			tell(1, mutation.Make, path("objects/ab"), "")
			must(t, os.Mkdir(path("objects/ab"), 0o755))
			for _, name := range []string{"objects/ab/c", "index", "refs/heads/main"} {
				tell(1, mutation.Write, path(name), "")
				must(t, write(path(name), os.O_TRUNC, "agent"))
			}
		})
		if changed != "" {
			must(t, write(path(changed), os.O_TRUNC, "user"))
		}
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
		_, statErr := os.Lstat(path("objects/ab/c"))
		if kept := statErr == nil; err != nil || kept != (changed != "" && changed != "description") || kept && len(done.Conflicts) == 0 {
			t.Errorf("%s changed: kept %t, %v, %v", changed, kept, err, done.Conflicts)
		}
		_, err = w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Force: true})
		if _, statErr = os.Lstat(path("objects/ab/c")); statErr == nil {
			t.Errorf("%s changed: forced undo: %v", changed, err)
		}
	}
}
