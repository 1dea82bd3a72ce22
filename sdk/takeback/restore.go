package takeback

import (
	"bytes"
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// findNames finds files that have a name left of the several that they had, and puts their contents back: what else is
// put back becomes another name again.
func (u *undoing) findNames() error {
	kept := map[uint64]*Entry{}   // of files with these numbers
	listed := map[string]*Entry{} // by their paths
	for _, e := range u.list.Entries {
		if e.Kind == File {
			listed[e.Path] = e
		}
		if e.Inode != 0 && (kept[e.Inode] == nil || e.Kept) {
			kept[e.Inode] = e
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return walk(u.w, func(path string, info fs.FileInfo) error {
		id, _ := identity(info)
		e := kept[id.inode]
		if e == nil || !info.Mode().IsRegular() || u.back[e.file()] != "" {
			return u.ctx.Err()
		}
		was := listed[path]
		if was != nil && was.Inode != e.Inode { // another file, which has got the number
			return u.ctx.Err()
		}
		if was == nil && u.w.Look(guard.Write, path, func(*workspace.Tree) error { return nil }) != nil {
			return u.ctx.Err()
		}
		u.back[e.file()] = path
		if !e.Kept {
			return u.ctx.Err()
		}
		return u.overwrite(path, e)
	})
}

// putFiles puts back files and links one by one.
func (u *undoing) putFiles() error {
	return u.each(func(e *Entry) error {
		first := ""
		if e.Kind == File {
			if first = u.back[e.file()]; !e.Kept || first == e.Path {
				return nil
			}
		}
		info := u.stat(e.Path)
		if info != nil && (e.Kind != File || !info.Mode().IsRegular() || first != "") {
			if err := u.clear(e.Path, info); err != nil {
				return err
			}
			info = nil
		}
		switch {
		case e.Kind == Sym:
			u.notice(mutation.Make, e.Path, "")
			dir, name, err := u.in(e.Path)
			if err != nil {
				return err
			}
			return errors.Join(dir.Symlink(e.Link, name), e.meta().Give(dir, name))
		case e.Kind == Fifo:
			u.notice(mutation.Make, e.Path, "")
			return u.w.Fifo(e.Path, e.meta())
		case first != "" && u.link(first, e.Path):
			return nil
		}
		u.back[e.file()] = e.Path
		return u.putFile(e, info)
	}, File, Sym, Fifo)
}

// link gives a file that is back its other name back; false if it has to be another file.
func (u *undoing) link(first, path string) bool {
	top := u.w.Dir()
	if !paths.Within(top, first) || !paths.Within(top, path) {
		return false
	}
	u.notice(mutation.Link, first, path)
	if dir, _ := u.at(path); dir == nil {
		return false
	}
	dir, _ := u.at(filepath.Join(top, "x"))
	return dir != nil && dir.Link(strings.TrimPrefix(first, top+"/"), strings.TrimPrefix(path, top+"/")) == nil
}

// putFile puts a file back as a file of its own: what is there may be another's by another name. It is there under its
// name when it is whole.
func (u *undoing) putFile(e *Entry, now fs.FileInfo) error {
	contents, err := u.list.contents(e)
	if err != nil {
		return err
	}
	if now != nil {
		if err := u.open(e.Path, now, 0o600); err != nil { // so that it can be kept
			return err
		}
		u.notice(mutation.Remove, e.Path, "")
	}
	u.notice(mutation.Make, e.Path, "")
	dir, name, err := u.in(e.Path)
	if err != nil {
		return err
	}
	temp := stagingName + rand.Text()[:8]
	f, err := dir.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, contents)
	if err = errors.Join(err, f.Close()); err == nil {
		err = dir.Rename(temp, name)
	}
	if err != nil {
		_ = dir.Remove(temp)
	}
	return err
}

// overwrite puts the contents of a file back under all the names that it has left, if they are others.
func (u *undoing) overwrite(path string, e *Entry) error {
	info := u.stat(path)
	if info == nil {
		return fs.ErrNotExist
	}
	if err := u.open(path, info, 0o600); err != nil {
		return err
	}
	same, err := u.holds(path, e)
	if err != nil || same {
		return err
	}
	u.notice(mutation.Write, path, "")
	dir, name, err := u.in(path)
	if err != nil {
		return err
	}
	contents, err := u.list.contents(e)
	if err != nil {
		return err
	}
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, contents)
	return errors.Join(err, f.Close())
}

// holds reports whether a file holds what is kept.
func (u *undoing) holds(path string, e *Entry) (bool, error) {
	contents, err := u.list.contents(e)
	if err != nil {
		return false, err
	}
	dir, name, err := u.in(path)
	if err != nil {
		return false, err
	}
	f, err := dir.Open(name)
	if err != nil {
		return false, err
	}
	defer func() { _ = f.Close() }()
	return equal(f, contents), nil
}

// equal reports whether two hold the same bytes.
func equal(a, b io.Reader) bool {
	x, y := make([]byte, 64<<10), make([]byte, 64<<10)
	for {
		n, errA := io.ReadFull(a, x)
		m, errB := io.ReadFull(b, y)
		if !bytes.Equal(x[:n], y[:m]) {
			return false
		}
		if errA != nil || errB != nil {
			return errA == errB //nolint:errorlint // both are ends
		}
	}
}

// putMeta gives back what files and directories were besides their contents, the innermost first. Directories that the
// operation had left as they were are so again: putting back what is in them has changed their times.
func (u *undoing) putMeta() error {
	listed := map[string]bool{}
	for _, e := range u.list.Entries {
		listed[e.Path] = listed[e.Path] || e.Kind == Dir
	}
	places := u.record.places()
	for _, e := range u.record.order {
		at := place(places, e.Path)
		if was, made := u.record.ledger.origin(at); e.Kind == Dir && !listed[at] && !made && was == e.Path {
			now := *e
			now.Path = at
			u.list.Entries = append(u.list.Entries, &now)
		}
	}
	slices.SortStableFunc(u.list.Entries, func(a, b *Entry) int { return compare(b.Path, a.Path) })
	return u.each(func(e *Entry) error {
		info := u.stat(e.Path)
		if info == nil || info.IsDir() != (e.Kind == Dir) {
			return nil
		}
		u.notice(mutation.Attribute, e.Path, "")
		dir, name, err := u.in(e.Path)
		if err != nil {
			return err
		}
		return e.meta().Give(dir, name)
	}, Dir, File)
}
