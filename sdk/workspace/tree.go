package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// walkPageSize is the number of entries of a directory a walk holds in memory.
const walkPageSize = 1 << 16

// Tree is an open file, symlink, or directory with its contents.
type Tree struct {
	Path string      // absolute and resolved
	Info fs.FileInfo // of the symlink itself

	dir   *os.Root // parent directory
	base  string
	exact string // instead of both: a single path
}

// TreeEntry is an entry of a tree.
type TreeEntry struct {
	Name string      // slash-separated, relative to the tree; "." for the tree itself
	Info fs.FileInfo // of the symlink itself

	dir   *os.Root
	base  string
	exact string
}

// WalkTree calls fn for every entry of a tree, a directory before its contents, sorted by name. It follows no symlinks.
// fn may return [fs.SkipDir] and [fs.SkipAll]. It skips entries that disappear meanwhile.
func (t *Tree) WalkTree(fn func(*TreeEntry) error) error {
	err := walkEntry(t.topEntry(), fn)
	if errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		return nil
	}
	return err
}

// topEntry returns the entry of the tree itself.
func (t *Tree) topEntry() *TreeEntry {
	return &TreeEntry{Name: ".", Info: t.Info, dir: t.dir, base: t.base, exact: t.exact}
}

// WalkTree walks the tree at a path; a symlink at its end is followed.
func (w *Workspace) WalkTree(access guard.Access, path string, fn func(*TreeEntry) error) error {
	return w.withPlace(access, path, func(at pathPlace) error {
		tree, done, err := at.openTree()
		if err != nil {
			return err
		}
		defer done()
		return tree.WalkTree(fn)
	})
}

// openTree opens the tree at a place, following symlinks.
func (at pathPlace) openTree() (tree *Tree, done func(), err error) {
	info, err := at.statPlace()
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() {
		return &Tree{Path: at.fullPath(), Info: info, dir: at.dir, base: at.name, exact: at.path}, func() {}, nil
	}
	var dir *os.Root
	if at.path != "" {
		dir, err = openDirRoot(at.path)
	} else {
		dir, err = at.dir.OpenRoot(at.name)
	}
	if err != nil {
		return nil, nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && at.path != "" && !os.SameFile(info, opened) {
		err = newRefusal(at.path, "workspace.symlink", outsideSymlinkMessage)
	}
	if err != nil {
		_ = dir.Close()
		return nil, nil, err
	}
	return &Tree{Path: at.fullPath(), Info: opened, dir: dir, base: "."}, func() { _ = dir.Close() }, nil
}

// fullPath returns the path for messages.
func (at pathPlace) fullPath() string {
	if at.path != "" {
		return at.path
	}
	return filepath.Join(at.dir.Name(), at.name)
}

func walkEntry(e *TreeEntry, fn func(*TreeEntry) error) error {
	if err := fn(e); err != nil {
		if errors.Is(err, fs.SkipDir) && e.Info.IsDir() {
			return nil
		}
		return err
	}
	if !e.Info.IsDir() {
		return nil
	}
	dir, err := e.dir.OpenRoot(e.base)
	if err != nil {
		return ignoreMissing(err)
	}
	defer func() { _ = dir.Close() }()
	opened, err := dir.Stat(".")
	if err != nil {
		return ignoreMissing(err)
	}
	if !os.SameFile(opened, e.Info) {
		return nil // replaced meanwhile, perhaps by a symlink
	}
	for after := ""; ; {
		page, err := listPage(dir, after)
		if err != nil {
			return err
		}
		for _, found := range page.Entries {
			after = found.Name()
			info, err := dir.Lstat(after)
			if err != nil {
				if ignoreMissing(err) == nil {
					continue
				}
				return err
			}
			below := &TreeEntry{Name: path.Join(e.Name, after), Info: info, dir: dir, base: after}
			if err := walkEntry(below, fn); err != nil {
				return err
			}
		}
		if !page.More {
			return nil
		}
	}
}

func listPage(dir *os.Root, after string) (DirPage, error) {
	d, err := dir.Open(".")
	if err != nil {
		return DirPage{}, err
	}
	defer func() { _ = d.Close() }()
	return readPage(d, after, walkPageSize, dir.Lstat)
}

// ignoreMissing drops the error of a missing file.
func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Open opens a regular file.
func (e *TreeEntry) Open() (*os.File, error) {
	f, info, err := pathPlace{dir: e.dir, name: e.base, path: e.exact}.openRegular(e.Name)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, e.Info) {
		_ = f.Close()
		return nil, &fs.PathError{Op: "open", Path: e.Name, Err: fs.ErrNotExist} // replaced
	}
	return f, nil
}

// OpenDir opens a directory, for example for its extended attributes.
func (e *TreeEntry) OpenDir() (*os.File, error) {
	f, err := e.dir.OpenFile(e.base, os.O_RDONLY|nonblockFlag|directoryFlag, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !os.SameFile(info, e.Info) {
		err = &fs.PathError{Op: "open", Path: e.Name, Err: fs.ErrNotExist} // replaced
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// Readlink returns the target of a symlink.
func (e *TreeEntry) Readlink() (string, error) { return e.dir.Readlink(e.base) }

// openTree returns the target as a tree; nil if it does not exist.
func (t *changeTarget) openTree() (*Tree, error) {
	info, err := t.dir.Lstat(t.name)
	if err != nil {
		return nil, ignoreMissing(err)
	}
	return &Tree{Path: t.path, Info: info, dir: t.dir, base: t.name}, nil
}
