//go:build !linux

package undo

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// statName returns the node at a name, nil for none.
func (d *directory) statName(name string) (*node, error) {
	info, err := d.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return nodeOf(info, func() (*os.File, error) { return d.root.Open(name) }), nil
}

// statFile returns the node of an open file.
func statFile(f *os.File) (*node, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return nodeOf(info, func() (*os.File, error) { return os.Open(f.Name()) }), nil
}

// nodeOf describes a file by what every system tells of it. Commands are recorded on Linux alone, and the tools know
// what they change, so a weaker identity does here.
func nodeOf(info fs.FileInfo, open func() (*os.File, error)) *node {
	n := &node{Mode: info.Mode(), Links: 1, Size: info.Size(), Modified: info.ModTime().UnixNano()}
	if info.IsDir() {
		n.Size = 0
	}
	n.Changed, n.ID = n.Modified, identityOf(info, open)
	return n
}

func (d *directory) readAttributes(string) (map[string][]byte, error) { return nil, nil }

// openName opens the regular file or directory at a name for reading.
func (d *directory) openName(name string) (*os.File, error) { return d.root.Open(name) }

func (d *directory) openFile(name string, flags int, mode uint32) (*os.File, error) {
	return d.root.OpenFile(name, flags, fs.FileMode(mode))
}

func (d *directory) readTarget(name string) (string, error) { return d.root.Readlink(name) }

// renameToFree renames an object, and fails if the new name is taken.
func (d *directory) renameToFree(name string, to *directory, newName string) error {
	if _, err := to.root.Lstat(newName); err == nil {
		return fs.ErrExist
	}
	if d.path == to.path {
		return d.root.Rename(name, newName)
	}
	return os.Rename(d.path+"/"+name, to.path+"/"+newName)
}

// renameExchange is not known here.
func renameExchange(*directory, string, *directory, string) error { return errors.ErrUnsupported }

func (d *directory) linkName(name string, to *directory, newName string) error {
	return os.Link(d.path+"/"+name, to.path+"/"+newName)
}

func (d *directory) makeFIFO(string) error { return errors.ErrUnsupported }

// isUnreadable can't tell here.
func isUnreadable(string) bool { return false }

// fileTime returns the time that a file changed now would have, in nanoseconds since 1970.
func fileTime() int64 { return time.Now().UnixNano() }

// errInUse says that a program has a file open for writing.
var errInUse = errors.New("another program has it open for writing")

// checkUnused can't tell here.
func checkUnused(*os.File) error { return nil }
