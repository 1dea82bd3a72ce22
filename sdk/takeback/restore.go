package takeback

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/internal/mutation"
	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// restoreTop gives the workspace itself its mode and time back.
func (u *undoing) restoreTop(e *Entry) error {
	top, err := u.w.OpenRoot(e.Path)
	if err != nil {
		return err
	}
	err = top.Chmod(".", e.Mode.Perm())
	return errors.Join(err, top.Chtimes(".", time.Time{}, time.Unix(0, e.Modified)), top.Close())
}

// findNames finds files that have a name left of the several that they had: what is put back becomes another name
// again.
func (u *undoing) findNames() error {
	kept := map[uint64]*Entry{}                            // what is kept of files with these numbers
	made, listed := map[string]bool{}, map[string]string{} // and under which path that of these files is
	for _, e := range u.list.Entries {
		if e.Inode != 0 {
			kept[e.Inode] = e
		}
		made[e.Path] = made[e.Path] || e.Kind == Made
		if e.Kind == File {
			listed[e.Path] = e.file()
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return u.w.Walk(guard.List, u.w.Dir(), func(found *workspace.Entry) error {
		path := filepath.Join(u.w.Dir(), filepath.FromSlash(found.Name))
		id, _ := identity(found.Info)
		e := kept[id.inode]
		if e == nil || !found.Info.Mode().IsRegular() || made[path] && listed[path] == "" {
			return u.ctx.Err()
		}
		if file, ok := listed[path]; ok {
			if file == e.file() { // else it is another file, which has got the number
				u.back[file] = path
			}
			return u.ctx.Err()
		}
		if u.back[e.file()] != "" {
			return u.ctx.Err()
		}
		u.back[e.file()] = path
		if found.Info.Size() != e.Size || found.Info.ModTime().UnixNano() != e.Modified {
			return u.restoreFile(path, e)
		}
		return u.ctx.Err()
	})
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
		if first, ok := u.back[e.file()]; ok && first != e.Path && u.relink(first, e.Path) {
			return nil
		}
		u.back[e.file()] = e.Path
		return u.restoreFile(e.Path, e)
	}, File, Sym, Fifo)
}

// relink gives a file that is back its other name back; false if it has to be another file.
func (u *undoing) relink(first, path string) bool {
	top := u.w.Dir()
	if !paths.Within(top, first) || !paths.Within(top, path) {
		return false
	}
	dir, err := u.w.OpenRoot(top)
	if err != nil {
		return false
	}
	defer func() { _ = dir.Close() }()
	if u.stat(path) != nil {
		if u.remove(path) != nil {
			return false
		}
	}
	u.notice(mutation.Link, first, path)
	return dir.Link(first[len(top)+1:], path[len(top)+1:]) == nil
}

func (u *undoing) restoreFile(path string, e *Entry) error {
	contents, err := u.list.contents(e)
	if err != nil {
		return err
	}
	if err := u.open(path, 0o600); err != nil {
		return err
	}
	u.notice(mutation.Write, path, "")
	meta := e.meta()
	if info := u.stat(path); info != nil && (e.Inode != 0 || e.Same != "") {
		if _, several := workspace.SeveralNames(info); several {
			return u.overwrite(path, contents)
		}
	}
	if e.Size > inMemory {
		return u.replace(path, contents)
	}
	data, err := io.ReadAll(contents)
	if err != nil {
		return err
	}
	return u.w.Apply(nil, workspace.Edit{
		Path: path, Meta: &meta, Change: func(*workspace.Old) ([]byte, error) { return data, nil },
	})
}

// overwrite puts the contents of a file with several names back under all of them.
func (u *undoing) overwrite(path string, contents io.Reader) error {
	dir, name := u.record.dirs.open(path)
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, contents)
	return errors.Join(err, f.Sync(), f.Close())
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

// restoreMeta gives back what files and directories were besides their contents, the innermost first. Directories that
// the operation had left as they were are so again: putting back what is in them has changed their times.
func (u *undoing) restoreMeta() error {
	listed := map[string]bool{}
	for _, e := range u.list.Entries {
		listed[e.Path] = listed[e.Path] || e.Kind == Dir || e.Kind == Made
	}
	places := u.record.places()
	for _, e := range u.record.order {
		if at := place(places, e.Path); e.Kind == Dir && !listed[at] {
			now := *e
			now.Path = at
			u.list.Entries = append(u.list.Entries, &now)
		}
	}
	slices.SortStableFunc(u.list.Entries, func(a, b *Entry) int { return compare(b.Path, a.Path) })
	return u.each(u.restoreOne, Dir, File)
}

func (u *undoing) restoreOne(e *Entry) error {
	info := u.stat(e.Path)
	if info == nil || info.IsDir() != (e.Kind == Dir) ||
		info.Mode() == e.Mode && info.ModTime().UnixNano() == e.Modified {
		return nil
	}
	u.notice(mutation.Attribute, e.Path, "")
	if e.Path == u.w.Dir() {
		return u.restoreTop(e)
	}
	return u.w.SetMeta(e.Path, e.meta())
}
