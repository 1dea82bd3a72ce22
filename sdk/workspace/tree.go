package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// walkPage is how many entries of one directory a walk holds in memory.
const walkPage = 1 << 16

// Tree is a file, a link, or a directory with everything in it, as it is held open.
type Tree struct {
	Path string      // absolute, symbolic links resolved
	Info fs.FileInfo // of itself, also if it is a link

	dir   *os.Root // what contains it
	base  string
	exact string // in place of both: a single path, opened as a whole
}

// Entry is something in a tree.
type Entry struct {
	Name string      // slash-separated, relative to the tree; "." for the tree itself
	Info fs.FileInfo // of itself, also if it is a link

	dir   *os.Root
	base  string
	exact string
}

// Walk calls fn for everything in a tree, a directory before its contents and these sorted by name. It follows no
// links. fn may return [fs.SkipDir] and [fs.SkipAll]. What disappears meanwhile is left out.
func (t *Tree) Walk(fn func(*Entry) error) error {
	err := walk(t.top(), fn)
	if errors.Is(err, fs.SkipAll) || errors.Is(err, fs.SkipDir) {
		return nil
	}
	return err
}

// top is the tree itself.
func (t *Tree) top() *Entry {
	return &Entry{Name: ".", Info: t.Info, dir: t.dir, base: t.base, exact: t.exact}
}

// Walk walks what is at a path; a link at the end of the path is followed.
func (w *Workspace) Walk(access guard.Access, path string, fn func(*Entry) error) error {
	return w.use(access, path, func(at place) error {
		tree, done, err := at.tree()
		if err != nil {
			return err
		}
		defer done()
		return tree.Walk(fn)
	})
}

// tree holds open what is at a place, links followed.
func (at place) tree() (tree *Tree, done func(), err error) {
	info, err := at.stat()
	if err != nil {
		return nil, nil, err
	}
	if !info.IsDir() {
		return &Tree{Path: at.full(), Info: info, dir: at.dir, base: at.name, exact: at.path}, func() {}, nil
	}
	var dir *os.Root
	if at.path != "" {
		dir, err = os.OpenRoot(at.path)
	} else {
		dir, err = at.dir.OpenRoot(at.name)
	}
	if err != nil {
		return nil, nil, err
	}
	opened, err := dir.Stat(".")
	if err == nil && at.path != "" && !os.SameFile(info, opened) {
		err = refused(at.path, "workspace.symlink", outsideSymlink)
	}
	if err != nil {
		_ = dir.Close()
		return nil, nil, err
	}
	return &Tree{Path: at.full(), Info: opened, dir: dir, base: "."}, func() { _ = dir.Close() }, nil
}

// full is a place's path, to be told.
func (at place) full() string {
	if at.path != "" {
		return at.path
	}
	return filepath.Join(at.dir.Name(), at.name)
}

func walk(e *Entry, fn func(*Entry) error) error {
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
		return gone(err)
	}
	defer func() { _ = dir.Close() }()
	opened, err := dir.Stat(".")
	if err != nil {
		return gone(err)
	}
	if !os.SameFile(opened, e.Info) {
		return nil // replaced since it was looked at, perhaps by a link
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
				if gone(err) == nil {
					continue
				}
				return err
			}
			below := &Entry{Name: path.Join(e.Name, after), Info: info, dir: dir, base: after}
			if err := walk(below, fn); err != nil {
				return err
			}
		}
		if !page.More {
			return nil
		}
	}
}

func listPage(dir *os.Root, after string) (Page, error) {
	d, err := dir.Open(".")
	if err != nil {
		return Page{}, err
	}
	defer func() { _ = d.Close() }()
	return readPage(d, after, walkPage, dir.Lstat)
}

// gone drops the error of something that is not there any more.
func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Open opens a regular file for reading.
func (e *Entry) Open() (*os.File, error) {
	f, info, err := place{dir: e.dir, name: e.base, path: e.exact}.open(e.Name)
	if err != nil {
		return nil, err
	}
	if !os.SameFile(info, e.Info) {
		_ = f.Close()
		return nil, &fs.PathError{Op: "open", Path: e.Name, Err: fs.ErrNotExist} // replaced
	}
	return f, nil
}

// OpenDir opens a directory for what it is itself, such as its extended attributes.
func (e *Entry) OpenDir() (*os.File, error) {
	f, err := e.dir.OpenFile(e.base, os.O_RDONLY|nonblock|directory, 0)
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

// Readlink returns where a link points to.
func (e *Entry) Readlink() (string, error) { return e.dir.Readlink(e.base) }

// tree is the target as a tree, nil if there is nothing.
func (t *target) tree() (*Tree, error) {
	info, err := t.dir.Lstat(t.name)
	if err != nil {
		return nil, gone(err)
	}
	return &Tree{Path: t.path, Info: info, dir: t.dir, base: t.name}, nil
}
