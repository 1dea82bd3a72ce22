package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// walkPageSize is the maximum number of entries of one directory that a walk holds in memory.
const walkPageSize = 1 << 16

// FileTree is an open file or symlink, or a directory with its contents.
type FileTree struct {
	Path string      // absolute and resolved
	Info fs.FileInfo // of the symlink itself

	dir   *os.Root // parent directory
	base  string
	exact string // instead of dir and base: a whitelisted path
}

// TreeEntry is a file, symlink or directory in a tree.
type TreeEntry struct {
	Name string      // slash-separated, relative to the tree; "." for the tree itself
	Info fs.FileInfo // of the symlink itself

	dir   *os.Root
	base  string
	exact string
}

// WalkTree calls fn for every entry of a tree, a directory before its contents, sorted by name. It does not follow
// symlinks. fn may return [fs.SkipDir] or [fs.SkipAll]. WalkTree skips entries that disappear meanwhile.
func (t *FileTree) WalkTree(fn func(*TreeEntry) error) error {
	err := walkTreeEntry(t.topEntry(), fn)
	if errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		return nil
	}
	return err
}

func (t *FileTree) topEntry() *TreeEntry {
	return &TreeEntry{Name: ".", Info: t.Info, dir: t.dir, base: t.base, exact: t.exact}
}

// WalkTree walks the tree at a path. It follows a symlink at the end of the path but none in the tree.
func (w *Workspace) WalkTree(access guard.AccessKind, path string, fn func(*TreeEntry) error) error {
	return w.withAllowedTarget(access, path, func(at accessTarget) error {
		tree, done, err := at.openTree()
		if err != nil {
			return err
		}
		defer done()
		return tree.WalkTree(fn)
	})
}

// openTree opens the tree at a target. It follows a symlink at the target.
func (at accessTarget) openTree() (tree *FileTree, done func(), err error) {
	info, err := at.statTarget()
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() {
		return &FileTree{Path: at.fullPath(), Info: info, dir: at.dir, base: at.name, exact: at.path}, func() {}, nil
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
	return &FileTree{Path: at.fullPath(), Info: opened, dir: dir, base: "."}, func() { _ = dir.Close() }, nil
}

func (at accessTarget) fullPath() string {
	if at.path != "" {
		return at.path
	}
	return filepath.Join(at.dir.Name(), at.name)
}

func walkTreeEntry(e *TreeEntry, fn func(*TreeEntry) error) error {
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
		return ignoreNotExist(err)
	}
	defer func() { _ = dir.Close() }()
	opened, err := dir.Stat(".")
	if err != nil {
		return ignoreNotExist(err)
	}
	if !os.SameFile(opened, e.Info) {
		return nil // replaced meanwhile, perhaps by a symlink
	}
	for after := ""; ; {
		page, err := readWalkPage(dir, after)
		if err != nil {
			return err
		}
		for _, found := range page.Entries {
			after = found.Name()
			info, err := dir.Lstat(after)
			if err != nil {
				if ignoreNotExist(err) == nil {
					continue
				}
				return err
			}
			below := &TreeEntry{Name: path.Join(e.Name, after), Info: info, dir: dir, base: after}
			if err := walkTreeEntry(below, fn); err != nil {
				return err
			}
		}
		if !page.More {
			return nil
		}
	}
}

func readWalkPage(dir *os.Root, after string) (DirPage, error) {
	d, err := dir.Open(".")
	if err != nil {
		return DirPage{}, err
	}
	defer func() { _ = d.Close() }()
	return readDirPage(d, after, walkPageSize, dir.Lstat)
}

// ignoreNotExist returns nil for the error of a missing file, and any other error unchanged.
func ignoreNotExist(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Open opens a regular file for reading.
func (e *TreeEntry) Open() (*os.File, error) {
	f, info, err := accessTarget{dir: e.dir, name: e.base, path: e.exact}.openRegular(e.Name)
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
	f, err := e.dir.OpenFile(e.base, os.O_RDONLY|nonblockFlag|dirOnlyFlag, 0)
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

// openTree opens the tree at a target. It returns nil if the target does not exist.
func (t *changeTarget) openTree() (*FileTree, error) {
	info, err := t.dir.Lstat(t.name)
	if err != nil {
		return nil, ignoreNotExist(err)
	}
	return &FileTree{Path: t.path, Info: info, dir: t.dir, base: t.name}, nil
}

// InspectTree opens the file or directory tree at a path and passes it to fn. It does not follow a symlink at the end
// of the path.
func (w *Workspace) InspectTree(access guard.AccessKind, path string, fn func(*FileTree) error) error {
	t, err := w.openTargetParentFollow(access, false, path)
	if isReadOnlyDirError(err) {
		return w.inspectWhitelistedFile(access, path, fn)
	}
	if err != nil {
		return explainRootChangeError(err, path)
	}
	defer t.closeHandles()
	tree, err := t.openTree()
	if err != nil {
		return err
	}
	if tree == nil {
		return &fs.PathError{Op: "look at", Path: path, Err: fs.ErrNotExist}
	}
	return fn(tree)
}

// inspectWhitelistedFile is InspectTree for a whitelisted file whose directory can't be opened for changes.
func (w *Workspace) inspectWhitelistedFile(access guard.AccessKind, path string, fn func(*FileTree) error) error {
	abs, err := w.AbsPath(path)
	if err != nil {
		return err
	}
	real, err := paths.Resolve(abs)
	if err != nil {
		return err
	}
	if !w.isWhitelisted(access, real) {
		return w.newOutsideRefusal(path, abs)
	}
	info, err := statNoSymlinks(real)
	if err != nil {
		return err
	}
	return fn(&FileTree{Path: real, Info: info, exact: real})
}
