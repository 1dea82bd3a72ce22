package takeback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
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
		if e.Kind == Dir && strings.HasPrefix(e.After, "dir") && e.After == fmt.Sprintf("dir %o", e.Mode.Perm()) {
			continue // its time alone
		}
		all = append(all, e.Path)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Undo puts back what an operation has changed, whatever is there now: see [List.Conflict]. Nothing else is touched.
// What it destroys is recorded, as an operation of its own.
func (j *Store) Undo(ctx context.Context, l *List, w *workspace.Workspace) (Undone, error) {
	if l.Op.Changes == nil {
		l.expand(w)
	}
	r := j.Record("undo", "undo of "+l.Op.Summary, w)
	r.op.Undoes, r.dirs.exact = l.Op.ID, true
	u := &undoing{ctx: ctx, list: l, w: w, record: r, built: map[string]bool{}, back: map[string]string{}}
	out := Undone{Paths: l.Paths()}
	err := u.all()
	out.Ended = r.End()
	return out, err
}

// expand lists what is in the directories that were made, for an operation whose end was not seen.
func (l *List) expand(w *workspace.Workspace) {
	known := map[string]bool{}
	for _, e := range l.Entries {
		known[e.Path], known[e.Now] = true, true
	}
	for _, made := range slices.Clone(l.Entries) {
		if made.Kind != Made {
			continue
		}
		_ = w.Look(guard.Write, made.Path, func(t *workspace.Tree) error { // what is not there any more is no matter
			return t.Walk(func(e *workspace.Entry) error {
				if at := filepath.Join(made.Path, filepath.FromSlash(e.Name)); !known[at] {
					l.Entries = append(l.Entries, &Entry{Kind: Made, Path: at})
				}
				return nil
			})
		})
	}
}

// undoing takes an operation back: what was made goes, what was moved comes back, what was there before is put there.
type undoing struct {
	ctx    context.Context
	list   *List
	w      *workspace.Workspace
	record *Recorder
	moves  []*Entry          // those of the list that were moved
	built  map[string]bool   // what was put back with the directory that it is in
	back   map[string]string // the first name under which a file is back, by the name that it is kept under
}

func (u *undoing) all() error {
	slices.SortStableFunc(u.list.Entries, func(a, b *Entry) int { return compare(a.Path, b.Path) })
	for _, e := range u.list.Entries {
		if e.Kind == Moved {
			u.moves = append(u.moves, e)
		}
	}
	for _, step := range []func() error{
		u.openDirs, u.findNames, u.removeMade, u.removeDirs, u.clearDirs, u.buildDirs, u.moveBack, u.removeDirs,
		u.buildDirs, u.moveBack, u.removeDirs, u.clearDirs, u.buildDirs, u.restoreFiles, u.restoreMeta,
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
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

// each calls do for the entries of some kinds, until the call is cancelled.
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

func (u *undoing) stat(path string) fs.FileInfo {
	return u.record.dirs.stat(path)
}

func (u *undoing) notice(kind mutation.Kind, path, to string) {
	_ = u.record.Notice(mutation.Mutation{Kind: kind, Path: path, To: to})
}

func (u *undoing) remove(path string) error {
	u.notice(mutation.Remove, path, "")
	var err error
	if info := u.stat(path); info != nil && info.IsDir() {
		u.record.dirs.forget()
		err = u.w.RemoveEmpty(path)
	} else {
		err = u.w.Remove(u.ctx, path, false, nil)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// openDirs opens directories to their owner that the operation has closed, the outermost first.
func (u *undoing) openDirs() error {
	return u.each(func(e *Entry) error { return u.open(e.Path, 0o700) }, Dir, Made, File, Sym, Fifo)
}

// open gives the owner of what is at a path the rights that it takes to put back what was there.
func (u *undoing) open(path string, rights fs.FileMode) error {
	info := u.stat(path)
	if info == nil || info.Mode()&rights == rights || rights&0o100 != 0 && !info.IsDir() || path == u.w.Dir() {
		return nil
	}
	u.notice(mutation.Attribute, path, "")
	u.record.dirs.forget()
	return u.w.SetMeta(path, workspace.Meta{Mode: info.Mode() | rights})
}

// removeMade deletes what was made and is no directory. A file in the place of another stays: it gets the contents
// back.
func (u *undoing) removeMade() error {
	files := map[string]bool{}
	for _, e := range u.list.Entries {
		files[e.Path] = files[e.Path] || e.Kind == File && !u.comesBack(e.Path)
	}
	return u.each(func(e *Entry) error {
		info := u.stat(e.Path)
		if info == nil || info.IsDir() || info.Mode().IsRegular() && files[e.Path] || u.isMoved(e.Path) {
			return nil
		}
		return u.remove(e.Path)
	}, Made)
}

// clearDirs deletes what stands where a directory was.
func (u *undoing) clearDirs() error {
	return u.each(func(e *Entry) error {
		if info := u.stat(e.Path); info == nil || info.IsDir() || u.isMoved(e.Path) || u.comesBack(e.Path) {
			return nil
		}
		return u.remove(e.Path)
	}, Dir)
}

// comesBack reports whether a path has to wait: what is to be there was moved, itself or with what it is in, or what is
// there now is still to be moved back.
func (u *undoing) comesBack(path string) bool {
	return slices.ContainsFunc(u.moves, func(e *Entry) bool {
		return e.Now != e.Path && (paths.Within(e.Path, path) || paths.Within(e.Now, path)) && u.stat(e.Now) != nil
	})
}

// isMoved reports whether what is at a path was moved there.
func (u *undoing) isMoved(path string) bool {
	return slices.ContainsFunc(u.moves, func(e *Entry) bool { return e.Now == path })
}

// moveBack moves back what was moved, where nothing is in the way. Of what changed places in a circle one goes aside.
func (u *undoing) moveBack() error {
	for {
		moved, blocked := false, (*Entry)(nil)
		err := u.each(func(e *Entry) error {
			if e.Now == e.Path || u.stat(e.Now) == nil {
				return nil
			}
			if paths.Within(e.Now, e.Path) { // what it was in is missing, and it is in that one's place
				moved = true
				return u.move(e, e.Now+aside)
			}
			if paths.Within(e.Path, e.Now) { // it is in what was made in its place
				moved = true
				return u.move(e, e.Path+aside)
			}
			if u.stat(filepath.Dir(e.Path)) == nil {
				return nil
			}
			if u.stat(e.Path) != nil {
				if u.isMoved(e.Path) {
					blocked = e
				}
				return nil
			}
			if err := u.move(e, e.Path); err != nil {
				return err
			}
			moved = true
			return nil
		}, Moved)
		switch {
		case err != nil:
			return err
		case moved:
		case blocked == nil:
			return nil
		default:
			if err := u.move(blocked, blocked.Now+aside); err != nil {
				return err
			}
		}
	}
}

// move gives what was moved another place, and what was moved with it.
func (u *undoing) move(e *Entry, to string) error {
	from := e.Now
	u.notice(mutation.Rename, from, to)
	if err := u.w.Move(from, to, workspace.TransferOptions{}); err != nil {
		return err
	}
	for kept, first := range u.back {
		if paths.Within(from, first) {
			u.back[kept] = to + first[len(from):]
		}
	}
	for _, other := range u.list.Entries {
		if other.Kind == Moved && paths.Within(from, other.Now) {
			other.Now = to + other.Now[len(from):]
		} else if other.Kind == Made && other.Path != from && paths.Within(from, other.Path) {
			other.Path = to + other.Path[len(from):]
		}
	}
	return nil
}

// removeDirs deletes the directories that were made, the innermost first, but what has come back to their places.
func (u *undoing) removeDirs() error {
	slices.Reverse(u.list.Entries)
	defer slices.Reverse(u.list.Entries)
	back := func(path string) bool {
		return u.built[path] || slices.ContainsFunc(u.moves, func(e *Entry) bool {
			return e.Now == e.Path && paths.Within(e.Path, path)
		})
	}
	return u.each(func(e *Entry) error {
		if info := u.stat(e.Path); info == nil || !info.IsDir() || u.isMoved(e.Path) || back(e.Path) {
			return nil
		}
		return u.remove(e.Path)
	}, Made)
}

// buildDirs makes the directories that are missing, each with all that is to be in it.
func (u *undoing) buildDirs() error {
	for i, e := range u.list.Entries {
		if e.Kind != Dir || u.built[e.Path] || u.stat(e.Path) != nil || u.stat(filepath.Dir(e.Path)) == nil ||
			u.comesBack(e.Path) {
			continue
		}
		if err := u.ctx.Err(); err != nil {
			return err
		}
		u.record.noteMade(e.Path)
		if err := u.w.Build(e.Path, e.meta(), func(b *workspace.Building) error { return u.fill(b, i) }); err != nil {
			return fmt.Errorf("put back %s: %w", e.Path, err)
		}
		u.built[e.Path] = true
	}
	return nil
}

// fill puts what was in a directory into it.
func (u *undoing) fill(b *workspace.Building, top int) error {
	dir := u.list.Entries[top].Path
	inside := map[string]bool{dir: true}
	for _, e := range u.list.Entries[top+1:] {
		if !paths.Within(dir, e.Path) {
			break
		}
		if !inside[filepath.Dir(e.Path)] || u.comesBack(e.Path) {
			continue // of a directory that was moved
		}
		if err := u.ctx.Err(); err != nil {
			return err
		}
		name := filepath.ToSlash(e.Path[len(dir)+1:])
		u.record.noteMade(e.Path)
		var err error
		switch e.Kind {
		case Dir:
			err = b.Mkdir(name, e.meta())
			inside[e.Path] = true
		case Sym:
			err = b.Symlink(e.Link, name)
		case Fifo:
			err = b.Fifo(name, e.meta())
		case File:
			if !e.Kept {
				continue
			}
			if first := u.back[e.file()]; paths.Within(dir, first) {
				err = b.Link(filepath.ToSlash(first[len(dir)+1:]), name, e.meta())
				break
			} else if first != "" {
				continue // it gets its other name back once this directory is in its place
			}
			u.back[e.file()] = e.Path
			var contents io.Reader
			if contents, err = u.list.contents(e); err == nil {
				err = b.File(name, e.meta(), contents)
			}
		default:
			continue
		}
		if err != nil {
			return err
		}
		u.built[e.Path] = true
	}
	return nil
}

// aside is behind the name of what goes out of the way for a moment.
const aside = ".picoclaw-undo"
