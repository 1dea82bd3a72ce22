package undo

import (
	"cmp"
	"io/fs"
	"os"

	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/workspace"
)

// A policy may open a single file without its directory. The entry of such a file has no directory and its path as
// name. Undo overwrites the file in place.

// findOrAddFileEntry returns the entry of a file that the policy opens without its directory. A new entry notes the
// file as it was before the operation.
func (r *Recorder) findOrAddFileEntry(path string) *entryChange {
	key := dirEntryKey{nil, path}
	e := r.byName[key]
	n := statSingleFile(r.files, path)
	if e == nil {
		if n == nil {
			return nil
		}
		e = &entryChange{Dir: none, Name: rawName(path), Before: none, After: none}
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

// openSingleFile opens a file whose directory the policy does not open, for reading.
func openSingleFile(files *workspace.Workspace, path string) (file *os.File, err error) {
	if info, lstatErr := os.Lstat(path); lstatErr != nil || !info.Mode().IsRegular() { // opening a FIFO would wait for a writer
		return nil, cmp.Or(lstatErr, fs.ErrInvalid)
	}
	err = files.InspectTree(guard.Write, path, func(t *workspace.FileTree) error {
		return t.WalkTree(func(e *workspace.TreeEntry) error {
			file, err = e.Open()
			return err
		})
	})
	return file, err
}

// statSingleFile describes a file whose directory the policy does not open. It returns nil if the file does not exist
// or can't be opened.
func statSingleFile(files *workspace.Workspace, path string) *fileStat {
	file, err := openSingleFile(files, path)
	if err != nil || file == nil {
		return nil
	}
	defer func() { _ = file.Close() }()
	n, err := statOpenFile(file)
	if err != nil {
		return nil
	}
	return n
}
