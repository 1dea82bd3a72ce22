package takeback

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// Undone is what was taken back, or would be.
type Undone struct {
	Paths []string // what was put back or deleted
	Ended Ended    // the operation that this was
}

// Paths are those that are put back or deleted when the operation is taken back.
func (l *List) Paths() []string {
	var all []string
	for _, e := range l.Entries {
		if !e.TimeOnly {
			all = append(all, e.Path)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Undo puts back what an operation has changed, whatever is there now: see [List.Conflict] and [List.Refused]. Nothing
// else is touched. What it destroys is recorded, as an operation of its own.
func (j *Store) Undo(ctx context.Context, l *List, w *workspace.Workspace) (Undone, error) {
	r := j.Record("undo", "undo of "+l.Op.Summary, w)
	r.op.Undoes, r.dirs.exact = l.Op.ID, true
	u := &undoing{ctx: ctx, list: l, w: w, record: r, back: map[string]string{}}
	out := Undone{Paths: l.Paths()}
	err := u.all()
	out.Ended = r.End()
	return out, err
}

// undoing takes an operation back in four steps. First all that the operation has put somewhere is taken away, from the
// innermost on: what it made is deleted, what it moved goes to a directory of this undo's. Then, from the outermost on,
// directories are made and what was moved gets its place back. Files follow, when each has the directory that it was
// in, and at last modes and times, which all of this has changed. So no step meets a path that means something else to
// another.
type undoing struct {
	ctx    context.Context
	list   *List
	w      *workspace.Workspace
	record *Recorder
	aside  staging
	back   map[string]string // the first name under which a file is back, by the name that it is kept under
}

func (u *undoing) all() error {
	slices.SortStableFunc(u.list.Entries, func(a, b *Entry) int {
		if a.Path == b.Path {
			return cmp.Compare(rank(a), rank(b))
		}
		return compare(a.Path, b.Path)
	})
	for _, step := range []func() error{
		u.openDirs, u.takeAway, u.putDirs, u.findNames, u.putFiles, u.closeStaging, u.putMeta,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return u.flush()
}

// compare sorts a directory right before what is in it.
func compare(a, b string) int {
	for i := range min(len(a), len(b)) {
		switch {
		case a[i] == b[i]:
		case a[i] == '/':
			return -1
		case b[i] == '/':
			return 1
		default:
			return int(a[i]) - int(b[i])
		}
	}
	return len(a) - len(b)
}

// rank has what was moved come back before anything else is said of it.
func rank(e *Entry) int {
	if e.Kind == Moved {
		return 0
	}
	return 1
}

// each calls do for the entries of some kinds, a directory before what is in it, until the call is cancelled.
func (u *undoing) each(do func(*Entry) error, kinds ...Kind) error {
	for _, e := range u.list.Entries {
		if !slices.Contains(kinds, e.Kind) {
			continue
		}
		if err := u.ctx.Err(); err != nil {
			return err
		}
		if err := do(e); err != nil {
			return fmt.Errorf("put back %s: %w", e.Path, err)
		}
	}
	return nil
}

// present is what the operation has left, each with the path that it has now, a directory before what is in it.
func (u *undoing) present(kinds ...Kind) []present {
	places := map[string]string{}
	for _, e := range u.list.Entries {
		if e.Kind == Moved {
			places[e.Path] = e.Now
		}
	}
	var all []present
	for _, e := range u.list.Entries {
		if !slices.Contains(kinds, e.Kind) {
			continue
		}
		at := e.Path
		if e.Kind == Moved {
			at = e.Now
		} else if e.Kind != Made {
			at = place(places, e.Path)
		}
		all = append(all, present{e, at})
	}
	slices.SortStableFunc(all, func(a, b present) int { return compare(a.at, b.at) })
	return all
}

type present struct {
	*Entry

	at string
}

// at returns the directory that a path is in and its name there; of the workspace itself that is the directory and ".".
// It is nil where the policy opens nothing, where nothing is, and where a link leads elsewhere.
func (u *undoing) at(path string) (*os.Root, string) {
	if dir, name := u.record.dirs.open(path); dir != nil {
		return dir, name
	}
	top, _ := u.record.dirs.open(filepath.Join(path, "x")) // it may be open, and what it is in not
	return top, "."
}

// in is at for who needs the directory.
func (u *undoing) in(path string) (*os.Root, string, error) {
	dir, name := u.at(path)
	if dir == nil {
		return nil, "", fs.ErrNotExist
	}
	return dir, name, nil
}

func (u *undoing) stat(path string) fs.FileInfo {
	return u.record.dirs.stat(path)
}

func (u *undoing) notice(kind mutation.Kind, path, to string) {
	_ = u.record.Notice(mutation.Mutation{Kind: kind, Path: path, To: to})
}

// openDirs opens directories to their owner that the operation has closed.
func (u *undoing) openDirs() error {
	for _, e := range u.present(Dir, Made, Moved, File, Sym, Fifo) {
		if info := u.stat(e.at); info != nil && info.IsDir() {
			if err := u.open(e.at, info, 0o700); err != nil {
				return err
			}
		}
	}
	return nil
}

// open gives the owner of what is at a path the rights that it takes to put back what was there.
func (u *undoing) open(path string, info fs.FileInfo, rights fs.FileMode) error {
	if info.Mode()&rights == rights {
		return nil
	}
	u.notice(mutation.Attribute, path, "")
	dir, name, err := u.in(path)
	if err != nil {
		return err
	}
	if err := dir.Chmod(name, info.Mode()|rights); err != nil {
		return err
	}
	u.record.dirs.forget() // what was closed was not opened
	return nil
}

// takeAway deletes what was made and moves aside what was moved, the innermost first. A directory that somebody else
// has put something into stays.
func (u *undoing) takeAway() error {
	all := u.present(Made, Moved)
	u.aside = newStaging(all)
	for _, e := range slices.Backward(all) {
		if err := u.ctx.Err(); err != nil {
			return err
		}
		info := u.stat(e.at)
		var err error
		switch {
		case info == nil:
		case e.Kind == Made && info.IsDir() && leftClosed(e.After): // what is in it could not be listed
			err = u.clear(e.at, info)
		case e.Kind == Made && info.IsDir() && !u.isEmpty(e.at):
		case e.Kind == Made:
			err = u.remove(e.at, info)
		default:
			err = u.stage(e.Entry)
		}
		if err != nil {
			return fmt.Errorf("take away %s: %w", e.at, err)
		}
	}
	return nil
}

func (u *undoing) isEmpty(path string) bool {
	dir, name := u.at(path)
	return dir == nil || empty(dir, name)
}

func (u *undoing) remove(path string, info fs.FileInfo) error {
	if info.IsDir() && !u.isEmpty(path) {
		return errors.New("it is not empty")
	}
	if info.Mode().IsRegular() {
		if err := u.open(path, info, 0o600); err != nil { // so that it can be kept
			return err
		}
	}
	u.notice(mutation.Remove, path, "")
	dir, name, err := u.in(path)
	if err != nil {
		return err
	}
	err = dir.Remove(name)
	if info.IsDir() {
		u.record.dirs.forget()
	}
	return err
}

// leftClosed reports whether a state is that of a directory whose owner can't see what is in it.
func leftClosed(state string) bool {
	var mode fs.FileMode
	n, _ := fmt.Sscanf(state, "dir %o", &mode)
	return n == 1 && mode&0o500 != 0o500
}

// clear takes what is at a path away, with all that is in it.
func (u *undoing) clear(path string, info fs.FileInfo) error {
	if !info.IsDir() {
		return u.remove(path, info)
	}
	if err := u.open(path, info, 0o700); err != nil {
		return err
	}
	dir, _, err := u.in(filepath.Join(path, "x"))
	if err != nil {
		return err
	}
	names, err := fs.ReadDir(dir.FS(), ".")
	if err != nil {
		return err
	}
	for _, d := range names {
		at := filepath.Join(path, d.Name())
		if now := u.stat(at); now != nil {
			if err := u.clear(at, now); err != nil {
				return err
			}
		}
	}
	return u.remove(path, info)
}

// putDirs puts directories back, and everything that was moved, the outermost first.
func (u *undoing) putDirs() error {
	return u.each(func(e *Entry) error {
		info := u.stat(e.Path)
		staged := u.aside.staged[e]
		if e.Kind == Moved && staged == "" || e.Kind == Dir && info != nil && info.IsDir() {
			return nil
		}
		if info != nil {
			if err := u.clear(e.Path, info); err != nil {
				return err
			}
		}
		if e.Kind == Moved {
			return u.rename(u.aside.tops[e], staged, e.Path)
		}
		return u.mkdir(e.Path)
	}, Moved, Dir)
}

func (u *undoing) mkdir(path string) error {
	u.notice(mutation.Make, path, "")
	dir, name, err := u.in(path)
	if err != nil {
		return err
	}
	return dir.Mkdir(name, 0o700)
}

// flush has what was put back on the disk.
func (u *undoing) flush() error {
	top, err := u.w.OpenRoot(u.w.Dir())
	if err != nil {
		return nil //nolint:nilerr // it could not be changed either
	}
	return errors.Join(workspace.Flush(top), top.Close())
}
