package undo_test

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/undo"
)

// attributes returns the user's extended attributes of a file.
func attributes(t *testing.T, path string) string {
	t.Helper()
	var all []string
	list := make([]byte, 4096)
	n, err := unix.Llistxattr(path, list)
	must(t, err)
	for name := range strings.SplitSeq(strings.TrimRight(string(list[:n]), "\x00"), "\x00") {
		if strings.HasPrefix(name, "user.") {
			value := make([]byte, 100)
			n, err := unix.Lgetxattr(path, name, value)
			must(t, err)
			all = append(all, name+"="+string(value[:n]))
		}
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func setAttribute(path, name, value string) error {
	return unix.Setxattr(path, "user."+name, []byte(value), 0)
}

// Of the metadata of a directory, undo restores each that is as the operation left it. The rest is a conflict if the
// operation changed it, and not mentioned otherwise.
func TestUndoSparesDirectoryMetadata(t *testing.T) {
	t.Parallel()
	at := time.Unix(1e9, 0)
	addFile := func(dir string) error { return write(filepath.Join(dir, "n"), 0, "n") }
	for name, c := range map[string]struct {
		agent, user    func(dir string) error
		mode           os.FileMode // afterwards
		attributes     string
		force, isNamed bool
	}{
		"attribute_beside_new_name":     {agent: addFile, user: func(d string) error { return setAttribute(d, "mine", "1") }, attributes: "user.mine=1 user.was=0"},
		"attribute_changed":             {agent: addFile, user: func(d string) error { return setAttribute(d, "was", "1") }, attributes: "user.was=1"},
		"attribute_removed":             {agent: addFile, user: func(d string) error { return unix.Removexattr(d, "user.was") }},
		"attribute_beside_mode":         {agent: func(d string) error { return os.Chmod(d, 0o700) }, user: func(d string) error { return setAttribute(d, "mine", "1") }, attributes: "user.mine=1 user.was=0"},
		"attribute_beside_attribute":    {agent: func(d string) error { return setAttribute(d, "was", "2") }, user: func(d string) error { return setAttribute(d, "mine", "1") }, attributes: "user.mine=1 user.was=0"},
		"attribute_beside_new":          {agent: func(d string) error { return setAttribute(d, "new", "2") }, user: func(d string) error { return setAttribute(d, "mine", "1") }, attributes: "user.mine=1 user.was=0"},
		"empty_attribute":               {agent: func(d string) error { return setAttribute(d, "empty", "") }, user: func(d string) error { return setAttribute(d, "mine", "1") }, attributes: "user.mine=1 user.was=0"},
		"attribute_of_both":             {agent: func(d string) error { return setAttribute(d, "was", "2") }, user: func(d string) error { return setAttribute(d, "was", "1") }, attributes: "user.was=1", isNamed: true},
		"attribute_of_both_by_force":    {agent: func(d string) error { return setAttribute(d, "was", "2") }, user: func(d string) error { return errors.Join(setAttribute(d, "was", "1"), setAttribute(d, "mine", "1")) }, attributes: "user.mine=1 user.was=0", force: true},
		"attribute_removed_and_set":     {agent: func(d string) error { return unix.Removexattr(d, "user.was") }, user: func(d string) error { return setAttribute(d, "was", "1") }, attributes: "user.was=1", isNamed: true},
		"mode_of_both":                  {agent: func(d string) error { return os.Chmod(d, 0o711) }, user: func(d string) error { return os.Chmod(d, 0o770) }, attributes: "user.was=0", mode: 0o770, isNamed: true},
		"mode_of_both_with_names":       {agent: func(d string) error { return errors.Join(addFile(d), os.Chmod(d, 0o711)) }, user: func(d string) error { return os.Chmod(d, 0o770) }, attributes: "user.was=0", mode: 0o770, isNamed: true},
		"mode_of_both_by_force":         {agent: func(d string) error { return os.Chmod(d, 0o711) }, user: func(d string) error { return os.Chmod(d, 0o770) }, attributes: "user.was=0", force: true},
		"mode_that_the_user_took_back":  {agent: func(d string) error { return os.Chmod(d, 0o711) }, user: func(d string) error { return os.Chmod(d, 0o755) }, attributes: "user.was=0"},
		"time_of_both":                  {agent: func(d string) error { return os.Chtimes(d, at, at) }, user: func(d string) error { return os.Chtimes(d, at, at.Add(1)) }, attributes: "user.was=0", isNamed: true},
		"special_bits":                  {agent: func(d string) error { return os.Chmod(d, 0o700) }, user: func(string) error { return nil }, attributes: "user.was=0"},
		"mode_and_attribute_of_which_1": {agent: func(d string) error { return errors.Join(os.Chmod(d, 0o711), setAttribute(d, "was", "2")) }, user: func(d string) error { return os.Chmod(d, 0o770) }, attributes: "user.was=2", mode: 0o770, isNamed: true},
	} {
		for _, isTop := range []bool{false, true} {
			w := newWorld(t, 1)
			dir := filepath.Join(w.dir, "d")
			must(t, os.Mkdir(dir, 0o755))
			if isTop {
				dir = w.dir
			}
			was := os.FileMode(0o755)
			if name == "special_bits" {
				was |= os.ModeSetgid | os.ModeSticky
			}
			must(t, os.Chmod(dir, was), setAttribute(dir, "was", "0"))
			id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
				tell(1, mutation.Attribute, dir, "")
				if name != "time_of_both" {
					tell(2, mutation.Write, filepath.Join(dir, "n"), "")
				}
				must(t, c.agent(dir))
			})
			must(t, c.user(dir))
			done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Force: c.force})
			if c.mode != 0 {
				was = c.mode
			}
			info, statErr := os.Stat(dir)
			must(t, statErr)
			isNamed := slices.ContainsFunc(done.Conflicts, func(c undo.PathConflict) bool { return c.Path == dir })
			if got := attributes(t, dir); err != nil || got != c.attributes || info.Mode()&^os.ModeDir != was || isNamed != c.isNamed || isNamed && slices.Contains(done.Paths, dir) {
				t.Errorf("%s, top %v: %v, %v, %v: %v, %q", name, isTop, err, done.Paths, done.Conflicts, info.Mode(), got)
			}
		}
	}
}

func TestUndoRestoresSpecialBitsAndOwners(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	path := func(name string) string { return filepath.Join(w.dir, name) }
	must(t, os.MkdirAll(path("g/in"), 0o755), os.Chmod(path("g/in"), 0o750|os.ModeSetgid), os.Chmod(path("g"), 0o770|os.ModeSetgid|os.ModeSticky),
		write(path("sticky"), 0, "s"), os.Chmod(path("sticky"), 0o640|os.ModeSticky), write(path("gone"), 0, "s"), os.Chmod(path("gone"), 0o600|os.ModeSticky),
		write(path("setuid"), 0, "s"), os.Chmod(path("setuid"), 0o750|os.ModeSetuid), write(path("setgid"), 0, "s"), os.Chmod(path("setgid"), 0o750|os.ModeSetgid))
	if os.Getuid() == 0 {
		must(t, os.Chown(path("g/in"), 11, 12), os.Chown(path("gone"), 13, 14), os.Chmod(path("g/in"), 0o750|os.ModeSetgid), os.Chmod(path("gone"), 0o600|os.ModeSticky))
	}
	owner := func(name string) (ids [2]uint32) {
		var s unix.Stat_t
		must(t, unix.Stat(path(name), &s))
		return [2]uint32{s.Uid, s.Gid}
	}
	before, owners := w.snapshot(), [][2]uint32{owner("g/in"), owner("gone")}
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		for _, name := range []string{"g", "gone", "setuid"} {
			w.removeAll(path(name), func(kind mutation.Kind, path, to string) { tell(1, kind, path, to) }, func(...string) {})
		}
		for _, name := range []string{"sticky", "setgid"} {
			tell(1, mutation.Write, path(name), "")
			must(t, write(path(name), os.O_APPEND, "more"))
		}
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	now := w.snapshot()
	before["/setuid"] = strings.Replace(before["/setuid"], "u", "-", 1)
	if os.Getuid() != 0 {
		before["/setgid"] = now["/setgid"]
	}
	if err != nil || !maps.Equal(withoutDirTimes(now), withoutDirTimes(before)) || !slices.Equal(owners, [][2]uint32{owner("g/in"), owner("gone")}) {
		t.Errorf("%v, %v: %s", err, done.Conflicts, difference(before, now))
	}
	if !slices.Contains(done.LostMetadata, path("setuid")+" (setuid bit)") || slices.ContainsFunc(done.LostMetadata, func(text string) bool { return !strings.HasPrefix(text, path("set")) }) {
		t.Errorf("%v", done.LostMetadata)
	}
}

// A directory that the user moved away is not made again without its contents, also by force.
func TestForceLeavesOutMovedDirectory(t *testing.T) {
	t.Parallel()
	for _, user := range []string{"moves", "deletes", "replaces"} {
		w := newWorld(t, 1)
		path := func(name string) string { return filepath.Join(w.dir, name) }
		must(t, os.MkdirAll(path("d/e/f"), 0o755), write(path("d/e/f/y"), 0, "y"), write(path("d/x"), 0, "x"))
		id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
			tell(1, mutation.Rename, path("d/e"), path("E"))
			must(t, os.Rename(path("d/e"), path("E")))
			w.removeAll(path("d"), func(kind mutation.Kind, path, to string) { tell(1, kind, path, to) }, func(...string) {})
		})
		switch user {
		case "deletes":
			must(t, os.RemoveAll(path("E")))
		case "replaces":
			must(t, os.Rename(path("E"), path("EE")), os.Mkdir(path("E"), 0o755), write(path("E/u"), 0, "user's"))
		default:
			must(t, os.Rename(path("E"), path("EE")))
		}
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Force: true})
		_, statErr := os.Lstat(path("d/e"))
		if data, _ := os.ReadFile(path("d/x")); err != nil || string(data) != "x" || statErr == nil || slices.Contains(done.Paths, path("d/e")) ||
			!slices.ContainsFunc(done.Conflicts, func(c undo.PathConflict) bool { return c.Path == path("d/e") }) {
			t.Errorf("user %s it: %v, %v, %v: %v, %v, %q", user, err, done.Paths, done.Conflicts, statErr, w.snapshot(), data)
		}
	}
}

// By force, an object moves back although the one that has to give way to it is lost.
func TestForceMovesBackFromPlaceOfLostFile(t *testing.T) {
	t.Parallel()
	for _, dir := range []bool{false, true} {
		w := newWorld(t, 1)
		path := func(name string) string { return filepath.Join(w.dir, name) }
		if must(t, write(path("a"), 0, "a"), write(path("b"), 0, "b")); dir {
			must(t, os.Remove(path("a")), os.Mkdir(path("a"), 0o755), write(path("a/in"), 0, "a"))
		}
		id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
			tell(1, mutation.Exchange, path("a"), path("b"))
			must(t, exchange(path("a"), path("b")))
		})
		must(t, os.Remove(path("a")))
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Force: true})
		_, missing := os.Lstat(path("a"))
		if _, there := os.Lstat(path("b")); err != nil || missing != nil || there == nil || !slices.Equal(done.Paths, []string{path("a")}) ||
			len(done.Conflicts) != 1 || done.Conflicts[0].Path != path("b") {
			t.Errorf("directory %v: %v, %v, %v: %v", dir, err, done.Paths, done.Conflicts, w.snapshot())
		}
	}
}

// A path whose restore is refused keeps what is there, also by force.
func TestRefusedRestoreKeepsPresentFiles(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		agent, user func(w *world, path string)
		force       bool
	}{
		"replaced_twice": {func(w *world, path string) {
			w.notice(1, mutation.Rename, path+".lock", path)
			must(w.t, os.Rename(path+".lock", path))
		}, func(w *world, path string) { must(w.t, write(path+".2", 0, "user's"), os.Rename(path+".2", path)) }, true},
		"deleted_and_created": {func(w *world, path string) {
			w.notice(1, mutation.Remove, path, "")
			must(w.t, os.Remove(path))
		}, func(w *world, path string) { must(w.t, write(path, 0, "user's")) }, true},
		"deleted_and_created_as_a_tree": {func(w *world, path string) {
			w.notice(1, mutation.Remove, path, "")
			must(w.t, os.Remove(path))
		}, func(w *world, path string) { must(w.t, os.MkdirAll(path+"/t", 0o700), write(path+"/t/f", 0, "f")) }, true},
		"symlink_replaced_by_the_operation": {func(w *world, path string) {
			w.notice(1, mutation.Remove, path, "")
			must(w.t, os.Remove(path))
			w.notice(1, mutation.Write, path, "")
			must(w.t, write(path, 0, "agent's"), os.Chmod(path, 0o400))
		}, func(*world, string) {}, false},
		"overwritten_with_links": {func(w *world, path string) {
			w.notice(1, mutation.Write, path, "")
			must(w.t, write(path, os.O_TRUNC, "agent's"))
		}, func(*world, string) {}, false},
		"created_by_both": {func(w *world, path string) {
			w.notice(1, mutation.Write, path+".new", "")
			must(w.t, write(path+".new", 0, "agent's"))
		}, func(w *world, path string) { must(w.t, write(path+".new", os.O_TRUNC, "user's")) }, true},
	} {
		w := newWorld(t, 1)
		path := filepath.Join(w.dir, "config")
		must(t, write(path, 0, "was"), write(path+".lock", 0, "agent's"))
		switch name {
		case "symlink_replaced_by_the_operation":
			must(t, os.Remove(path), os.Symlink("was", path))
		case "overwritten_with_links":
			must(t, os.Link(path, path+".link"))
		}
		id := operation(w, func(func(int, mutation.Kind, string, string)) { c.agent(w, path) })
		c.user(w, path)
		left := w.snapshot()
		done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id, Force: c.force, Permit: func(m mutation.FileMutation) error {
			if strings.HasPrefix(m.Path, path) || strings.HasPrefix(m.To, path) {
				return errors.New("refused")
			}
			return nil
		}})
		now := w.snapshot()
		for _, all := range []map[string]string{left, now} {
			if name == "replaced_twice" {
				delete(all, "/config.lock") // its name is free, and nothing refuses that
			}
		}
		if err != nil || len(done.Conflicts) == 0 || !maps.Equal(withoutDirTimes(now), withoutDirTimes(left)) {
			t.Errorf("%s: %v, %v, %v: %s", name, err, done.Paths, done.Conflicts, difference(left, now))
		}
	}
}

// Files come back as copies where the system allows no link, and before new files go.
func TestUndoCopiesFileThatCannotBeLinked(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a directory of its own")
	}
	w := newWorld(t, 1)
	path := func(name string) string { return filepath.Join(w.dir, name) }
	must(t, os.MkdirAll(path("up/objects"), 0o755), os.MkdirAll(path("cl/objects"), 0o755))
	for _, name := range []string{"1", "2", "3"} {
		must(t, write(path("up/objects/"+name), 0, name), os.Chmod(path("up/objects/"+name), 0o440), os.Link(path("up/objects/"+name), path("cl/objects/"+name)))
	}
	must(t, os.Link(path("cl/objects/3"), path("cl/objects/4")), unix.Mount(path("up"), path("up"), "", unix.MS_BIND, ""))
	t.Cleanup(func() { _ = unix.Unmount(path("up"), unix.MNT_DETACH) })
	before := w.snapshot()
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Write, path("cl/pack"), "")
		must(t, write(path("cl/pack"), 0, "123"))
		for _, name := range []string{"1", "3", "4"} {
			tell(1, mutation.Remove, path("cl/objects/"+name), "")
			must(t, os.Remove(path("cl/objects/"+name)))
		}
		tell(1, mutation.Write, path("cl/new"), "")
		must(t, write(path("cl/new"), 0, "new"))
		tell(1, mutation.Rename, path("cl/new"), path("cl/objects/2"))
		must(t, os.Rename(path("cl/new"), path("cl/objects/2")))
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	now := w.snapshot()
	for name, text := range before {
		if withoutLinks(text) != withoutLinks(now[name]) {
			t.Errorf("%s: %s, now %s", name, text, now[name])
		}
	}
	if err != nil || len(done.Conflicts) > 0 || len(now) != len(before) || len(done.LostMetadata) < 3 {
		t.Errorf("%v, %v, %q\n%s", err, done.Conflicts, done.LostMetadata, difference(before, now))
	}
	if a, b := now["/cl/objects/3"], now["/cl/objects/4"]; linkGroup(a) != linkGroup(b) {
		t.Errorf("the copies are not linked: %s, %s", a, b)
	}
}

// Attributes that undo could not read before its change are kept by an undo of the undo.
func TestUndoKeepsUnreadAttributes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	dir := filepath.Join(w.dir, "d")
	must(t, os.Mkdir(dir, 0o755), setAttribute(dir, "kind", "closed"))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Attribute, dir, "")
		must(t, os.Chmod(dir, 0))
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	must(t, err)
	_, err = w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: done.Ended.ID})
	must(t, err)
	info, err := os.Lstat(dir)
	if must(t, err, os.Chmod(dir, 0o700)); info.Mode().Perm() != 0 || attributes(t, dir) != "user.kind=closed" {
		t.Errorf("%v, %q", info.Mode(), attributes(t, dir))
	}
}

// A call that failed changed no time, so undo leaves the user's.
func TestFailedOpenLeavesTimesOfUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 1)
	path, at := filepath.Join(w.dir, "f"), time.Unix(1e9, 5)
	must(t, write(path, 0, "f"))
	id := operation(w, func(tell func(int, mutation.Kind, string, string)) {
		tell(1, mutation.Write, path, "")
		tell(1, mutation.Failed, "", "")
		must(t, os.Chtimes(path, at, at))
		tell(1, mutation.Make, filepath.Join(w.dir, "d"), "")
		must(t, os.Mkdir(filepath.Join(w.dir, "d"), 0o755))
	})
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: id})
	if info, statErr := os.Lstat(path); err != nil || statErr != nil || len(done.Conflicts) > 0 || !info.ModTime().Equal(at) {
		t.Errorf("%v %v, %v, modified %v", err, statErr, done.Conflicts, info.ModTime())
	}
}

func TestUndoNamesLostCapabilities(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can set capabilities")
	}
	w := newWorld(t, 1)
	path := filepath.Join(w.dir, "f")
	must(t, write(path, 0, "f"))
	must(t, unix.Setxattr(path, "security.capability", append([]byte{1, 0, 0, 2, 0, 0x20}, make([]byte, 14)...), 0))
	w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "exec", Summary: "test", Observe: true})
	w.notice(1, mutation.Remove, path, "")
	must(t, os.Remove(path))
	if lost := strings.Join(w.recorder.End().Lost, "\n"); !strings.HasPrefix(lost, path) || !strings.Contains(lost, "capabilities") {
		t.Errorf("lost: %q", lost)
	}
}
