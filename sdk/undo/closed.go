package undo

import (
	"cmp"
	"io/fs"
	"os"

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// A policy may open a single file whose directory stays closed. Its entry has no directory and its path as name, and it
// is changed where it is.

// touchClosed returns the entry of a single file.
func (r *Recorder) touchClosed(path string) *entry {
	key := entryKey{nil, path}
	e := r.byName[key]
	n := statClosed(r.files, path)
	if e == nil {
		if n == nil {
			return nil
		}
		e = &entry{Dir: none, Name: rawText(path), Before: none, After: none}
		o := newObject(n)
		r.addObject(o)
		e.Before, e.current = o.index, o
		r.byName[key] = e
		r.addEntry(e)
		return e
	}
	if n == nil {
		e.current = nil
	}
	return e
}

func (r *Recorder) openClosed(path string) (*os.File, error) { return openClosed(r.files, path) }

// openClosed opens a single file for reading.
func openClosed(files *workspace.Workspace, path string) (file *os.File, err error) {
	if info, lstatErr := os.Lstat(path); lstatErr != nil || !info.Mode().IsRegular() { // opening a FIFO would wait for a writer
		return nil, cmp.Or(lstatErr, fs.ErrInvalid)
	}
	err = files.InspectTree(guard.Write, path, func(t *workspace.Tree) error {
		return t.WalkTree(func(e *workspace.TreeEntry) error {
			file, err = e.Open()
			return err
		})
	})
	return file, err
}

// statClosed returns the node of a single file, nil for none.
func statClosed(files *workspace.Workspace, path string) *node {
	file, err := openClosed(files, path)
	if err != nil || file == nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	n, err := statFile(file)
	if err != nil {
		return nil
	}
	return n
}
