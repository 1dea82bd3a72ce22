package takeback

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// undoing takes an operation back: what was made goes, what was moved comes back, what was there before is put there.
type undoing struct {
	ctx    context.Context
	list   *List
	w      *workspace.Workspace
	record *Recorder
	moves  []*Entry        // those of the list that were moved
	built  map[string]bool // what was put back with the directory that it is in
	notes  []string
}

func (u *undoing) all() error {
	slices.SortStableFunc(u.list.Entries, func(a, b *Entry) int { return compare(a.Path, b.Path) })
	for _, e := range u.list.Entries {
		if e.Kind == Moved {
			u.moves = append(u.moves, e)
		}
	}
	for _, step := range []func() error{
		u.removeMade, u.buildDirs, u.moveBack, u.removeDirs, u.buildDirs, u.moveBack, u.restoreFiles, u.restoreMeta,
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
	return u.record.lstat(path)
}

func (u *undoing) notice(kind mutation.Kind, path, to string) {
	_ = u.record.Notice(mutation.Mutation{Kind: kind, Path: path, To: to})
}

func (u *undoing) remove(path string) error {
	u.notice(mutation.Remove, path, "")
	err := u.w.Remove(u.ctx, path, false, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// removeMade deletes what was made and is no directory. A file in the place of another stays: it gets the contents back.
func (u *undoing) removeMade() error {
	files := map[string]bool{}
	for _, e := range u.list.Entries {
		files[e.Path] = files[e.Path] || e.Kind == File
	}
	return u.each(func(e *Entry) error {
		info := u.stat(e.Path)
		if info == nil || info.IsDir() || info.Mode().IsRegular() && files[e.Path] || u.isMoved(e.Path) {
			return nil
		}
		return u.remove(e.Path)
	}, Made)
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
			info := u.stat(e.Now)
			if e.Now == e.Path || info == nil || u.stat(filepath.Dir(e.Path)) == nil && filepath.Dir(e.Path) != "/" {
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
	for _, other := range u.list.Entries {
		if other.Kind == Moved && paths.Within(from, other.Now) {
			other.Now = to + other.Now[len(from):]
		} else if other.Kind == Made && other.Path != from && paths.Within(from, other.Path) {
			other.Path = to + other.Path[len(from):]
		}
	}
	return nil
}

// removeDirs deletes the directories that were made, the innermost first.
func (u *undoing) removeDirs() error {
	slices.Reverse(u.list.Entries)
	defer slices.Reverse(u.list.Entries)
	return u.each(func(e *Entry) error {
		if info := u.stat(e.Path); info == nil || !info.IsDir() || u.isMoved(e.Path) {
			return nil
		}
		return u.remove(e.Path)
	}, Made)
}

// buildDirs makes the directories that are missing, each with all that is to be in it.
func (u *undoing) buildDirs() error {
	for i, e := range u.list.Entries {
		if e.Kind != Dir || u.built[e.Path] || u.stat(e.Path) != nil || u.stat(filepath.Dir(e.Path)) == nil {
			continue
		}
		if err := u.ctx.Err(); err != nil {
			return err
		}
		u.notice(mutation.Make, e.Path, "")
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
		if !inside[filepath.Dir(e.Path)] {
			continue // of a directory that was moved
		}
		if err := u.ctx.Err(); err != nil {
			return err
		}
		name := filepath.ToSlash(e.Path[len(dir)+1:])
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
			if first, ok := strings.CutPrefix(e.Same, dir+"/"); ok && u.built[e.Same] {
				err = b.Link(filepath.ToSlash(first), name, e.meta())
				break
			}
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

// restoreFiles puts back files and links one by one.
func (u *undoing) restoreFiles() error {
	return u.each(func(e *Entry) error {
		info := u.stat(e.Path)
		if u.built[e.Path] || e.Kind == File && !e.Kept {
			return nil
		}
		if info != nil && (e.Kind != File || !info.Mode().IsRegular()) {
			if err := u.remove(e.Path); err != nil {
				return err
			}
		}
		switch e.Kind {
		case Sym:
			u.notice(mutation.Make, e.Path, "")
			return u.w.Symlink(e.Link, e.Path)
		case Fifo:
			u.notice(mutation.Make, e.Path, "")
			return u.w.Fifo(e.Path, e.meta())
		}
		u.notice(mutation.Write, e.Path, "")
		return u.restoreFile(e)
	}, File, Sym, Fifo)
}

func (u *undoing) restoreFile(e *Entry) error {
	contents, err := u.list.contents(e)
	if err != nil {
		return err
	}
	meta := e.meta()
	if e.Size > inMemory {
		return u.replace(e.Path, contents)
	}
	data, err := io.ReadAll(contents)
	if err != nil {
		return err
	}
	return u.w.Apply(nil, workspace.Edit{
		Path: e.Path, Meta: &meta, Change: func(*workspace.Old) ([]byte, error) { return data, nil },
	})
}

// inMemory is how large a file may be that is put back through memory, in bytes.
const inMemory = 64 << 20

// replace puts a large file in the place of what is there.
func (u *undoing) replace(path string, contents io.Reader) error {
	dir, name := u.record.dirs.open(path)
	if dir == nil {
		return fs.ErrNotExist
	}
	temp := name + aside
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, contents)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		_ = dir.Remove(temp)
	}
	return err
}

// aside is behind the name of what goes out of the way for a moment.
const aside = ".picoclaw-undo"

// restoreMeta gives back what files and directories were besides their contents, the innermost first.
func (u *undoing) restoreMeta() error {
	slices.Reverse(u.list.Entries)
	defer slices.Reverse(u.list.Entries)
	return u.each(func(e *Entry) error {
		info := u.stat(e.Path)
		if info == nil || info.IsDir() != (e.Kind == Dir) || e.Path == u.w.Dir() {
			return nil
		}
		if info.Mode() == e.Mode && info.ModTime().UnixNano() == e.Modified {
			return nil
		}
		u.notice(mutation.Attribute, e.Path, "")
		return u.w.SetMeta(e.Path, e.meta())
	}, Dir, File)
}
