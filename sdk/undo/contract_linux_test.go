package undo_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/undo"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// long has the generators run longer.
var long bool

// world is a workspace in which an agent and a user make random changes.
type world struct {
	t         *testing.T
	dir       string
	files     *workspace.Workspace
	store     *undo.Store
	random    *rand.Rand
	before    map[string]string // the operation
	recorder  *undo.Recorder
	log       []string
	open      []*os.File // of the agent, for writing
	touched   map[string]bool
	users     map[string]string  // paths as the user left them
	usersDirs map[string]string  // identities of these, for directories
	places    map[place]string   // the same by directory: these may be moved
	renames   [][2]string        // of the user's
	now       map[string]bool    // paths that the user's last change touched
	appended  []fs.FileInfo      // files that the agent appended to
	oneName   bool               // files that the agent has open have one name
	dirs      map[string]dirMeta // metadata that the user set, by the identity of the directory
	special   *rand.Rand         // for changes of special files; nil for none
	lost      []string           // changes that undo does not cover
}

// place is a name in a directory, wherever that is.
type place struct{ dir, name string }

// dirMeta is the metadata of a directory.
type dirMeta struct {
	mode      fs.FileMode
	modified  int64
	attribute string
	times     []string // that it had when the user set some of it
}

func newWorld(t *testing.T, seed uint64) *world {
	t.Helper()
	dir, err := os.MkdirTemp(base(t), "w")
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, dir: filepath.Join(dir, "ws"), random: rand.New(rand.NewPCG(seed, 7)), touched: map[string]bool{}, users: map[string]string{},
		places: map[place]string{}, usersDirs: map[string]string{}, dirs: map[string]dirMeta{}}
	if err := os.Mkdir(w.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if w.files, err = workspace.OpenWorkspace(guard.Policy{Workspace: w.dir, Restrict: true}, workspace.Options{}); err != nil {
		t.Fatal(err)
	}
	if w.store, err = undo.Open(undo.StoreOptions{Dir: filepath.Join(dir, "store")}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.store.Close()
		_ = w.files.Close()
		_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, _ error) error {
			if d != nil && d.IsDir() {
				_ = os.Chmod(path, 0o700)
			}
			return nil
		})
		_ = os.RemoveAll(dir)
	})
	return w
}

// base is where workspaces are made: a real file system, where the machine has one beside /tmp.
func base(t *testing.T) string {
	t.Helper()
	return t.TempDir()
}

// names are those that changes are made at: few, so that they meet.
var names = []string{"a", "b", "c", "x (deleted)", "n\xff", "long" + strings.Repeat("g", 200)}

// path returns a random path: of something that exists, or of something that could be made.
func (w *world) path() string {
	var dirs, all []string
	_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		if err == nil && path != w.dir {
			all = append(all, path)
		}
		return nil
	})
	if len(all) > 0 && w.random.IntN(3) > 0 {
		return all[w.random.IntN(len(all))]
	}
	return filepath.Join(dirs[w.random.IntN(len(dirs))], names[w.random.IntN(len(names))])
}

// notice announces a change of the agent's.
func (w *world) notice(thread int, kind mutation.Kind, path, to string) {
	_ = w.recorder.BeforeChange(mutation.FileMutation{Kind: kind, Path: path, To: to, Thread: thread})
}

// changeSpecialFile makes a random change of a FIFO or a device: as the agent, announced, or as the user. It draws from
// a source of its own, so that seeds without special files stay the same.
func (w *world) changeSpecialFile(agent bool) {
	path, marks := filepath.Join(w.dir, names[w.special.IntN(3)]), []string{}
	info, err := os.Lstat(path)
	isSpecial := err == nil && info.Mode()&(fs.ModeNamedPipe|fs.ModeDevice) != 0
	kind := mutation.Make
	if isSpecial {
		kind = mutation.Attribute
		for other := range w.snapshot() {
			if i, err := os.Lstat(w.dir + other); err == nil && os.SameFile(i, info) {
				marks = append(marks, w.dir+other)
			}
		}
	} else if marks = append(marks, path); err == nil {
		return
	}
	perm := uint32(0o600)
	if !agent { // so that a device of the user's differs from one that the agent made in the same tick
		perm = 0o640
	}
	var change func() error
	switch n := w.special.IntN(4); {
	case isSpecial && n == 0 && info.Mode()&fs.ModeNamedPipe != 0:
		kind = mutation.Write
		change = func() error { return writeFIFO(path) }
	case isSpecial && n == 1:
		kind = mutation.Link
		marks = []string{path + "l"}
		change = func() error { return os.Link(path, path+"l") }
	case isSpecial && n == 2:
		change = func() error { return os.Chmod(path, 0o600+fs.FileMode(w.special.IntN(0o100))) }
	case isSpecial:
		at := time.Unix(1e9, w.special.Int64N(1000))
		change = func() error { return os.Chtimes(path, at, at) }
	case n < 2:
		change = func() error { return unix.Mknod(path, unix.S_IFCHR|perm, 0) } // anybody may create this device
	default:
		change = func() error { return unix.Mkfifo(path, perm) }
	}
	if agent {
		to := ""
		if kind == mutation.Link {
			to = path + "l"
		}
		w.notice(1, kind, path, to)
	}
	w.now = map[string]bool{}
	err = change()
	if agent && err != nil {
		w.notice(1, mutation.Failed, "", "")
	}
	if err == nil && !agent {
		for _, p := range marks {
			w.touched[p], w.now[p] = true, true
		}
	}
	w.log = append(w.log, fmt.Sprintf("agent %t: %v of special file %s: %v", agent, kind, strings.TrimPrefix(path, w.dir), err))
}

// writeFIFO writes to a FIFO that nobody reads, which sets its time.
func writeFIFO(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("text")
	return errors.Join(err, f.Close())
}

// change makes a random change: as the agent, announced, or as the user.
func (w *world) change(agent bool) {
	if w.special != nil && w.special.IntN(4) == 0 {
		w.changeSpecialFile(agent)
		return
	}
	a, b := w.path(), w.path()
	x, errA := os.Lstat(a)
	y, errB := os.Lstat(b)
	if !agent && errA == nil && w.holds(x) || !agent && errB == nil && w.holds(y) {
		return // undo can't tell who wrote to a file that both have open
	}
	if a == b || errA == nil && errB == nil && os.SameFile(x, y) {
		return
	}
	thread := 1 + w.random.IntN(2)
	tell := func(kind mutation.Kind, path, to string) {
		if agent {
			w.notice(thread, kind, path, to)
		}
	}
	who := "user"
	if agent {
		who = "agent"
	}
	note := func(format string, args ...any) {
		w.log = append(w.log, who+": "+strings.ReplaceAll(fmt.Sprintf(format, args...), w.dir, ""))
	}
	var marks []string // of the user's change, if it succeeds
	mark := func(paths ...string) {
		if !agent {
			marks = append(marks, paths...)
		}
	}
	// A user's change to a file is one to all of its names.
	marked := func(path string) {
		mark(path)
		info, err := os.Lstat(path)
		if err != nil || agent {
			return
		}
		_ = filepath.WalkDir(w.dir, func(other string, d fs.DirEntry, err error) error {
			if err == nil {
				if i, err := os.Lstat(other); err == nil && os.SameFile(i, info) {
					mark(other)
				}
			}
			return nil
		})
	}
	var err error
	w.now = map[string]bool{}
	failed := func() {
		if agent {
			w.notice(thread, mutation.Failed, "", "")
		}
	}
	defer func() {
		if err != nil {
			failed()
		}
		for _, p := range marks {
			if err == nil {
				w.touched[p], w.now[p] = true, true
			}
		}
	}()
	kinds := 16
	if !agent && w.recorder != nil {
		kinds = 20
	}
	switch w.random.IntN(kinds) {
	case 0, 1: // write in place, or make a file
		text := strconv.Itoa(w.random.IntN(1000))
		marked(a)
		tell(mutation.Write, a, "")
		err = write(a, os.O_TRUNC, text)
		marked(a)
		note("write %s %s: %v", a, text, err)
	case 2: // append
		marked(a)
		tell(mutation.Write, a, "")
		err = write(a, os.O_APPEND, "+")
		marked(a)
		if info, statErr := os.Lstat(a); agent && statErr == nil {
			w.appended = append(w.appended, info)
		}
		note("append %s: %v", a, err)
	case 3: // replace
		temp := filepath.Join(filepath.Dir(a), "temp")
		tell(mutation.Write, temp, "")
		if err = write(temp, os.O_TRUNC, "r"+strconv.Itoa(w.random.IntN(1000))); err == nil {
			tell(mutation.Rename, temp, a)
			if err = os.Rename(temp, a); err != nil {
				failed()
				tell(mutation.Remove, temp, "")
				_ = os.Remove(temp)
				note("replace %s: %v", a, err)
				a, err = temp, nil
			}
		}
		mark(a)
		note("replace %s: %v", a, err)
	case 4:
		tell(mutation.Make, a, "")
		err = os.Mkdir(a, 0o755)
		mark(a)
		note("mkdir %s: %v", a, err)
	case 5: // its other names stay
		mark(a)
		tell(mutation.Remove, a, "")
		err = os.Remove(a)
		note("remove %s: %v", a, err)
	case 6: // delete a tree
		if agent || errA == nil {
			w.removeAll(a, tell, mark)
		}
		note("rm -r %s: %v", a, errA)
	case 7, 8:
		w.markTree(a, mark)
		w.markTree(b, mark)
		tell(mutation.Rename, a, b)
		err = os.Rename(a, b)
		w.markTree(b, mark)
		w.noteRename(agent, err, a, b)
		note("rename %s %s: %v", a, b, err)
	case 9:
		w.markTree(a, mark)
		w.markTree(b, mark)
		tell(mutation.Exchange, a, b)
		err = unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE)
		w.markTree(a, mark)
		w.markTree(b, mark)
		w.noteRename(agent, err, a, b)
		w.noteRename(agent, err, b, a)
		note("exchange %s %s: %v", a, b, err)
	case 10:
		if w.oneName && errA == nil && w.holds(x) {
			return
		}
		mark(b)
		tell(mutation.Link, a, b)
		err = os.Link(a, b)
		note("link %s %s: %v", a, b, err)
	case 11:
		tell(mutation.Make, a, "")
		err = os.Symlink("../a", a)
		mark(a)
		note("symlink %s: %v", a, err)
	case 12:
		modes := []fs.FileMode{0o600, 0o644, 0o755, 0o500, 0o300}
		info, statErr := os.Lstat(a)
		if statErr != nil || info.Mode()&fs.ModeSymlink != 0 {
			return
		}
		mode := modes[w.random.IntN(3)]
		if !agent {
			mode = 0o640
		}
		if info.IsDir() && agent {
			if mode |= 0o700; os.Getuid() == 0 { // it looks into closed directories too
				mode = modes[w.random.IntN(len(modes))] | 0o100
			}
		}
		if info.IsDir() && !agent {
			return
		}
		if agent && len(w.log)%4 == 0 {
			mode |= fs.ModeSticky
			if info.IsDir() {
				mode |= fs.ModeSetgid
			}
		}
		marked(a)
		tell(mutation.Attribute, a, "")
		err = os.Chmod(a, mode)
		note("chmod %s %o: %v", a, mode, err)
	case 13: // a descriptor that stays open
		if !agent || len(w.open) > 2 || w.oneName && errA == nil && x.Sys().(*syscall.Stat_t).Nlink > 1 { //nolint:forcetypeassert // on Linux it is
			return
		}
		tell(mutation.Write, a, "")
		var f *os.File
		if f, err = os.OpenFile(a, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644); err == nil {
			w.open = append(w.open, f)
			_, err = f.WriteString("h")
		}
		note("hold %s: %v", a, err)
	case 15: // set a time
		if _, statErr := os.Lstat(a); statErr != nil || !agent {
			return
		}
		tell(mutation.Attribute, a, "")
		times := []unix.Timespec{{Sec: 1e9}, {Sec: 1e9 + int64(w.random.IntN(1000))}}
		err = unix.UtimesNanoAt(unix.AT_FDCWD, a, times, unix.AT_SYMLINK_NOFOLLOW)
		note("touch %s: %v", a, err)
	case 14:
		if !agent || len(w.open) == 0 {
			return
		}
		f := w.open[0]
		w.open = w.open[1:]
		_, err = f.WriteString("late")
		_ = f.Close()
		note("close %s: %v", f.Name(), err)
	case 16, 17: // into a directory that the agent made
		dirs := w.madeDirs()
		if len(dirs) == 0 || errA != nil {
			return
		}
		b = filepath.Join(dirs[w.random.IntN(len(dirs))], names[w.random.IntN(len(names))])
		if info, statErr := os.Lstat(b); a == b || statErr == nil && (w.holds(info) || os.SameFile(info, x)) {
			return
		}
		w.markTree(a, mark)
		w.markTree(b, mark)
		err = os.Rename(a, b)
		w.markTree(b, mark)
		w.noteRename(agent, err, a, b)
		note("move %s %s: %v", a, b, err)
	case 18: // the metadata of a directory
		if errA != nil || !x.IsDir() {
			a = filepath.Dir(a)
		}
		set := w.dirs[dirID(a)]
		if w.random.IntN(2) == 0 {
			mode := fs.ModeDir | 0o750 + fs.FileMode(w.random.IntN(8))
			set.mode, err = mode, os.Chmod(a, mode.Perm())
		} else {
			at := time.Unix(1e9, w.random.Int64N(1000))
			set.modified, err = at.UnixNano(), os.Chtimes(a, at, at)
		}
		if len(w.log)%3 == 0 {
			set.attribute, err = strconv.Itoa(len(w.log)), errors.Join(err, setAttribute(a, "u", strconv.Itoa(len(w.log))))
		}
		if info, statErr := os.Lstat(a); statErr == nil {
			set.times = append(set.times, fmt.Sprint(info.ModTime().UnixNano()))
		}
		w.dirs[dirID(a)] = set
		note("set the metadata of %s: %v", a, err)
	case 19: // append to a file that the agent appended to
		_ = filepath.WalkDir(w.dir, func(path string, _ fs.DirEntry, _ error) error {
			info, statErr := os.Lstat(path)
			if statErr != nil || !info.Mode().IsRegular() || w.holds(info) ||
				!slices.ContainsFunc(w.appended, func(i fs.FileInfo) bool { return os.SameFile(i, info) }) {
				return nil
			}
			marked(path)
			err = write(path, os.O_APPEND, "-")
			note("append %s: %v", path, err)
			return fs.SkipAll
		})
	}
}

// noteRename notes a rename of the user's that succeeded.
func (w *world) noteRename(agent bool, err error, from, to string) {
	if !agent && err == nil {
		w.renames = append(w.renames, [2]string{strings.TrimPrefix(from, w.dir), strings.TrimPrefix(to, w.dir)})
	}
}

// madeDirs returns the directories that did not exist before the operation.
func (w *world) madeDirs() (dirs []string) {
	_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, err error) error {
		if _, existed := w.before[strings.TrimPrefix(path, w.dir)]; err == nil && d.IsDir() && !existed {
			dirs = append(dirs, path)
		}
		return nil
	})
	return dirs
}

// dirID returns the identity of a directory: inode and time of birth.
func dirID(path string) string {
	var s unix.Statx_t
	if unix.Statx(unix.AT_FDCWD, path, 0, unix.STATX_INO|unix.STATX_BTIME, &s) != nil {
		return ""
	}
	return fmt.Sprint(s.Ino, s.Btime)
}

// dirsNow returns the metadata of all directories, by identity.
func (w *world) dirsNow() map[string]dirMeta {
	all := map[string]dirMeta{}
	_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, _ error) error {
		if info, err := os.Lstat(path); err == nil && info.IsDir() {
			value := make([]byte, 10)
			n, _ := unix.Lgetxattr(path, "user.u", value)
			all[dirID(path)] = dirMeta{mode: info.Mode(), modified: info.ModTime().UnixNano(), attribute: string(value[:max(n, 0)])}
		}
		return nil
	})
	return all
}

// checkDirs returns the directories whose metadata undo took from the user.
func (w *world) checkDirs(left map[string]dirMeta) (wrong []string) {
	now := w.dirsNow()
	for ino, set := range w.dirs {
		is, ok := now[ino]
		if _, existed := left[ino]; !existed || !ok {
			continue
		}
		if set.mode != 0 && left[ino].mode == set.mode && is.mode != set.mode {
			wrong = append(wrong, fmt.Sprintf("user's mode of a directory: %v, now %v", set.mode, is.mode))
		}
		if set.attribute != "" && left[ino].attribute == set.attribute && is.attribute != set.attribute {
			wrong = append(wrong, fmt.Sprintf("user's attribute of a directory: %s, now %q", set.attribute, is.attribute))
		}
		if set.modified != 0 && left[ino].modified == set.modified && is.modified != set.modified {
			wrong = append(wrong, fmt.Sprintf("user's time of a directory: %v, now %v", set.modified, is.modified))
		}
	}
	return wrong
}

// leftovers returns the paths that undo left under names of its own.
func (w *world) leftovers() (all []string) {
	for path := range w.snapshot() {
		if strings.Contains(path, "picoclaw") {
			all = append(all, "undo left "+path)
		}
	}
	return all
}

// holds reports whether the agent has a file open for writing, or one in a directory.
func (w *world) holds(info fs.FileInfo) bool {
	return slices.ContainsFunc(w.open, func(f *os.File) bool {
		held, err := f.Stat()
		return err == nil && (os.SameFile(held, info) || info.IsDir())
	})
}

func write(path string, flags int, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|flags|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0o644)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// removeForeignTree deletes a tree as rm does, from the innermost on.
func (w *world) removeAll(path string, tell func(mutation.Kind, string, string), mark func(...string)) {
	if info, err := os.Lstat(path); err == nil && info.IsDir() {
		entries, _ := os.ReadDir(path)
		for _, e := range entries {
			w.removeAll(filepath.Join(path, e.Name()), tell, mark)
		}
	}
	if _, err := os.Lstat(path); err == nil {
		mark(path)
	}
	tell(mutation.Remove, path, "")
	_ = os.Remove(path)
}

// markTree marks everything at and below a path as the user's.
func (w *world) markTree(path string, mark func(...string)) {
	mark(path)
	_ = filepath.WalkDir(path, func(at string, _ fs.DirEntry, _ error) error {
		mark(at)
		return nil
	})
}

// snapshot describes everything in the workspace, by path.
func (w *world) snapshot() map[string]string {
	all, groups := map[string]string{}, map[[2]uint64]string{}
	link := func(path string, s *syscall.Stat_t) string {
		id := [2]uint64{s.Dev, s.Ino}
		if groups[id] == "" {
			groups[id] = strings.TrimPrefix(path, w.dir)
		}
		return fmt.Sprintf("%d links with %s", s.Nlink, groups[id])
	}
	var visit func(path string)
	visit = func(path string) {
		info, err := os.Lstat(path)
		if err != nil {
			return
		}
		line := info.Mode().String()
		s := info.Sys().(*syscall.Stat_t) //nolint:forcetypeassert // on Linux it is
		switch {
		case info.Mode()&fs.ModeSymlink != 0:
			target, _ := os.Readlink(path)
			line += fmt.Sprintf(" %q %s %d", target, link(path, s), info.ModTime().UnixNano())
		case info.IsDir():
			line += fmt.Sprint(" ", info.ModTime().UnixNano())
			entries, _ := os.ReadDir(path)
			for _, e := range entries {
				visit(filepath.Join(path, e.Name()))
			}
		default:
			var data []byte
			if info.Mode().IsRegular() {
				data, _ = os.ReadFile(path)
			}
			line += fmt.Sprintf(" %q %s %d", data, link(path, s), info.ModTime().UnixNano())
		}
		all[strings.TrimPrefix(path, w.dir)] = line
	}
	visit(w.dir)
	return all
}

// userChange makes a change of the user's, and notes how it left paths.
func (w *world) userChange() {
	dirs := w.dirIDs()
	w.change(false)
	now := w.snapshot()
	maps.Copy(dirs, w.dirIDs())
	for path := range maps.Clone(w.now) { // another file than the one that they left at the name
		for other, text := range now {
			if group := linkGroup(text); group != "" && group == linkGroup(now[strings.TrimPrefix(path, w.dir)]) && w.touched[w.dir+other] {
				w.now[w.dir+other] = true
			}
		}
	}
	for path := range w.now {
		path = strings.TrimPrefix(path, w.dir)
		w.users[path] = now[path]
		w.usersDirs[path] = dirs[filepath.Clean("/"+path)]
		w.places[place{dirs[filepath.Dir("/"+path)], filepath.Base(path)}] = now[path]
	}
}

// dirIDs returns the identities of directories, by path.
func (w *world) dirIDs() map[string]string {
	all := map[string]string{}
	_ = filepath.WalkDir(w.dir, func(path string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			all[filepath.Join("/", strings.TrimPrefix(path, w.dir))] = dirID(path)
		}
		return nil
	})
	return all
}

// sequence makes one operation of the agent's with changes of the user's between and beside, undoes it, and compares.
func sequence(t *testing.T, seed uint64, users bool) (ok bool) {
	w := newWorld(t, seed)
	if users && seed%2 == 0 && !slices.Contains(failedSeeds, seed) {
		w.special = rand.New(rand.NewPCG(seed, 8))
	}
	for range 12 {
		w.change(false)
	}
	clear(w.touched)
	w.log, w.renames = nil, nil
	before, beforeDirs := w.snapshot(), w.dirIDs()
	w.before = before
	w.recorder = w.store.NewRecorder(w.files, undo.RecordOptions{Tool: "exec", Summary: "test", Observe: true})
	for range 1 + w.random.IntN(14) {
		w.change(true)
		if users && w.random.IntN(3) == 0 {
			w.recorder.Tick()
			w.userChange()
			w.recorder.Tick()
		}
	}
	for _, f := range w.open {
		_ = f.Close()
	}
	if !users && seed%4 == 0 {
		return killed(w, seed, before)
	}
	ended := w.recorder.End()
	w.lost = ended.Lost
	after, during := w.snapshot(), maps.Clone(w.users)
	if users {
		for range w.random.IntN(4) {
			w.userChange()
		}
	}
	left, leftDirs, leftIDs := w.snapshot(), w.dirsNow(), w.dirIDs()
	for path := range w.users { // what they took back themselves
		if left[path] == after[path] {
			w.users[path] = during[path]
			if _, touched := during[path]; !touched {
				delete(w.users, path)
			}
		}
	}
	if ended.ID == "" {
		if !users && !maps.Equal(withoutDirs(before), withoutDirs(after)) {
			t.Errorf("seed %d: nothing was recorded (%+v)\n%s", seed, ended, strings.Join(w.log, "\n"))
			return false
		}
		return true
	}
	if text := w.interruptUndo(ended.ID, left); text != "" {
		t.Errorf("seed %d: %s\n%s", seed, text, strings.Join(w.log, "\n"))
		return false
	}
	unlock := w.lockDir(slices.Sorted(maps.Keys(leftIDs)))
	done, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: ended.ID})
	unlock()
	c := &comparison{world: w, before: before, after: after, left: left, now: w.snapshot(), beforeDirs: beforeDirs, nowDirs: w.dirIDs(), leftDirs: leftIDs, during: during,
		conflicts: done.Conflicts, lostMetadata: done.LostMetadata, undone: len(done.Paths) > 0}
	wrong := slices.Concat(w.checkDirs(leftDirs), w.leftovers(), c.wrong())
	if err != nil || len(wrong) > 0 || !users && len(done.Conflicts) > 0 {
		t.Errorf("seed %d: %v, conflicts %v\n%s\n%s", seed, err, done.Conflicts, strings.Join(wrong, "\n"), strings.Join(w.log, "\n"))
		return false
	}
	if users {
		left = w.snapshot()
		forced, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: ended.ID, Force: true})
		all, restored := w.leftovers(), w.snapshot()
		if forced.Ended.ID != "" { // nothing of the user's is lost
			_, redoErr := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: forced.Ended.ID})
			if again := w.snapshot(); redoErr != nil || !maps.Equal(withoutDevices(withoutDirTimes(again)), withoutDevices(withoutDirTimes(left))) {
				all = append(all, fmt.Sprintf("undo of the forced undo: %v\n%s\nforced:\n%s", redoErr, difference(left, again), difference(left, restored)))
			}
		}
		if err != nil || len(all) > 0 || slices.ContainsFunc(forced.Conflicts, func(c undo.PathConflict) bool { return c.CanForce() && !strings.HasPrefix(c.Reason, "has ") }) {
			t.Errorf("seed %d: forced: %v, %v\n%s\n%s", seed, err, forced.Conflicts, strings.Join(all, "\n"), strings.Join(w.log, "\n"))
			return false
		}
		return true
	}
	if done.Ended.ID == "" {
		t.Errorf("seed %d: the undo of %v changed nothing; %v before, %v after\n%s", seed, done.Paths, before, after, strings.Join(w.log, "\n"))
		return false
	}
	redone, err := w.store.Undo(t.Context(), w.files, undo.UndoRequest{ID: done.Ended.ID})
	if again := w.snapshot(); err != nil || !maps.Equal(again, after) {
		t.Errorf("seed %d: done again: %v, %v\n%s\n%s", seed, err, redone.Conflicts, difference(after, again), strings.Join(w.log, "\n"))
		return false
	}
	return true
}

// lockDir makes one of the directories immutable now and then. It returns a function that makes it mutable again.
func (w *world) lockDir(dirs []string) (unlock func()) {
	if w.special == nil || w.special.IntN(3) > 0 {
		return func() {}
	}
	dir := w.dir + strings.TrimSuffix(dirs[w.special.IntN(len(dirs))], "/")
	if !setImmutable(dir, true) {
		return func() {}
	}
	w.log = append(w.log, "immutable: "+strings.TrimPrefix(dir, w.dir))
	return func() { setImmutable(dir, false) }
}

// interruptUndo kills an undo before one of its changes, and undoes this undo. It returns a difference to the workspace
// before, or other faults.
func (w *world) interruptUndo(id string, before map[string]string) string {
	if len(w.users) > 0 || w.special != nil || w.random.IntN(3) > 0 { // undo creates no devices
		return ""
	}
	left := w.random.IntN(6)
	func() {
		defer func() { _ = recover() }()
		_, _ = w.store.Undo(w.t.Context(), w.files, undo.UndoRequest{ID: id, Permit: func(mutation.FileMutation) error {
			if left--; left < 0 {
				panic("killed")
			}
			return nil
		}})
	}()
	var last *undo.Operation
	must(w.t, w.store.EachOperation(func(op *undo.Operation) bool { last = op; return false }))
	if last.ID == id {
		return ""
	}
	w.log = append(w.log, fmt.Sprintf("interrupted: %t, left %d", last.IsUnfinished(), left))
	if last.IsUnfinished() {
		for _, force := range []bool{false, true} {
			var unfinished *undo.UnfinishedOperationError
			_, err := w.store.Undo(w.t.Context(), w.files, undo.UndoRequest{ID: id, Force: force})
			if !errors.As(err, &unfinished) || unfinished.ID != last.ID || extentOf(w.t, w, id) == undo.ExtentWhole {
				return fmt.Sprintf("after an interrupted undo: %v, extent %d", err, extentOf(w.t, w, id))
			}
		}
	}
	done, err := w.store.Undo(w.t.Context(), w.files, undo.UndoRequest{ID: last.ID, Force: last.IsUnfinished()})
	if now := w.snapshot(); err != nil || !maps.Equal(withoutDirTimes(now), withoutDirTimes(before)) ||
		(last.Changes == nil || last.Changes.Total() > 0) && extentOf(w.t, w, last.ID) != undo.ExtentWhole {
		return fmt.Sprintf("undo of an interrupted undo: %v, %v\n%s", err, done.Conflicts, difference(before, now))
	}
	return ""
}

// killed undoes an operation whose process was killed.
func killed(w *world, seed uint64, before map[string]string) bool {
	id := w.recorder.Kill()
	done, err := undo.UndoResult{}, error(nil)
	if id != "" {
		done, err = w.store.Undo(w.t.Context(), w.files, undo.UndoRequest{ID: id, Force: true})
	}
	if now := w.snapshot(); err != nil || !maps.Equal(withoutDirTimes(now), withoutDirTimes(before)) {
		w.t.Errorf("seed %d, killed: %v, %v\n%s\n%s", seed, err, done.Conflicts, difference(before, now), strings.Join(w.log, "\n"))
		return false
	}
	return true
}

// withoutDirTimes drops the times of directories from a snapshot.
func withoutDirTimes(all map[string]string) map[string]string {
	all = maps.Clone(all)
	for path, line := range all {
		if strings.HasPrefix(line, "d") {
			all[path], _, _ = strings.Cut(line, " ")
		}
	}
	return all
}

// withoutDevices drops devices from a snapshot, which undo does not create.
func withoutDevices(all map[string]string) map[string]string {
	maps.DeleteFunc(all, func(_, line string) bool { return strings.HasPrefix(line, "D") })
	return all
}

// withoutDirs drops directories from a snapshot, of which the time alone may have changed.
func withoutDirs(all map[string]string) map[string]string {
	all = maps.Clone(all)
	maps.DeleteFunc(all, func(_, line string) bool { return strings.HasPrefix(line, "d") })
	return all
}

func difference(want, got map[string]string) string {
	var lines []string
	for path := range want {
		if got[path] != want[path] {
			lines = append(lines, fmt.Sprintf("%q: want %s, now %s", path, want[path], got[path]))
		}
	}
	for path := range got {
		if _, ok := want[path]; !ok {
			lines = append(lines, fmt.Sprintf("%q: want nothing, now %s", path, got[path]))
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// failedSeeds are the seeds of sequences with a user that found faults: all names of a file that still exists are
// conflicts, a directory has two former places, a directory that undo makes again holds a symlink of the user's, undo
// restores nothing in a directory of the user's and so not its time either.
var failedSeeds = []uint64{1795804647517716888, 1795846261196096663, 1795846261196094443, 1796017014894932611}

// failedSpecialSeeds are the same for sequences with special files: an object's former name is in a directory that nobody
// can change, and its next name has a former object; a temporary file is not needed in the end; a hard link of a file that
// undo does not restore is an entry without a change; the user removes one name of a file of which the agent moves another.
var failedSpecialSeeds = []uint64{1795900694677084502, 1795900694677084914, 1795900694677085024, 1795902211910214464, 1795902211910216120}

func generate(t *testing.T, users bool) {
	t.Helper()
	if text := os.Getenv("PICOCLAW_TEST_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		sequence(t, seed, users)
		return
	}
	if users {
		for _, seed := range slices.Concat(failedSeeds, failedSpecialSeeds) {
			sequence(t, seed, users)
		}
	}
	begin, count, deadline := uint64(1), 200, time.Now().Add(time.Hour)
	if long { // others each time
		begin, count, deadline = uint64(time.Now().UnixNano()), 1<<30, time.Now().Add(150*time.Second) //nolint:gosec // a seed
	}
	failed, n := 0, 0
	for ; n < count && time.Now().Before(deadline) && failed < 5; n++ {
		if !t.Run("sequence", func(t *testing.T) { sequence(t, begin+uint64(n), users) }) {
			failed++
		}
	}
	t.Logf("%d sequences", n)
}

// Whatever an operation does, undo restores all of it, and undo of the undo does it again.
func TestUndoRestoresEverything(t *testing.T) { generate(t, false) }

// Undo never changes what somebody else changed, during the operation or after it, and names what it can't restore.
func TestUndoKeepsUserChanges(t *testing.T) { generate(t, true) }
