//go:build !linux

package undo

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// statName describes the file at a name, without following a symlink. It returns nil if the name does not exist.
func (d *dirHandle) statName(name string) (*fileStat, error) {
	info, err := d.root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return fileStatFromInfo(info, func() (*os.File, error) { return d.root.Open(name) }), nil
}

func statOpenFile(f *os.File) (*fileStat, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return fileStatFromInfo(info, func() (*os.File, error) { return os.Open(f.Name()) }), nil
}

// fileStatFromInfo builds a fileStat from portable file information. Its identity is weaker than on Linux. That is
// enough for tools, which know their own changes; commands are recorded on Linux only.
func fileStatFromInfo(info fs.FileInfo, open func() (*os.File, error)) *fileStat {
	n := &fileStat{Mode: info.Mode(), Links: 1, Size: info.Size(), Modified: info.ModTime().UnixNano()}
	if info.IsDir() {
		n.Size = 0
	}
	n.Changed, n.ID = n.Modified, fileIdentity(info, open)
	return n
}

// withOwnerRead always returns false: this system can't.
func (d *dirHandle) withOwnerRead(string, func()) bool { return false }

func (d *dirHandle) readXattrs(string) (map[string][]byte, error) { return nil, nil }

// openChild opens the regular file or subdirectory at a name for reading.
func (d *dirHandle) openChild(name string) (*os.File, error) { return d.root.Open(name) }

func (d *dirHandle) openFileAt(name string, flags int, mode uint32) (*os.File, error) {
	return d.root.OpenFile(name, flags, fs.FileMode(mode))
}

func (d *dirHandle) readSymlink(name string) (string, error) { return d.root.Readlink(name) }

// renameNoReplace renames a file and fails if the new name exists.
func (d *dirHandle) renameNoReplace(name string, to *dirHandle, newName string) error {
	if _, err := to.root.Lstat(newName); err == nil {
		return fs.ErrExist
	}
	if d.path == to.path {
		return d.root.Rename(name, newName)
	}
	return os.Rename(d.path+"/"+name, to.path+"/"+newName)
}

// exchangeNames always returns an error: this system has no atomic exchange.
func exchangeNames(*dirHandle, string, *dirHandle, string) error { return errors.ErrUnsupported }

func (d *dirHandle) createHardLink(name string, to *dirHandle, newName string) error {
	return os.Link(d.path+"/"+name, to.path+"/"+newName)
}

func (d *dirHandle) makeFIFO(string) error { return errors.ErrUnsupported }

// checkMutable never fails: this system does not tell.
func (d *dirHandle) checkMutable(string) error { return nil }

// hasFileCapabilities always returns false: this system does not tell.
func hasFileCapabilities(*os.File) bool { return false }

// isUnlistableDir always returns false: this system does not tell.
func isUnlistableDir(string) bool { return false }

// currentFileTime returns the file system clock in nanoseconds since 1970, which a file changed now gets as its time.
func currentFileTime() int64 { return time.Now().UnixNano() }

// allocateSpace does nothing: this system can't.
func allocateSpace(*os.File, int64) error { return nil }

// errInUse is the error of checkNoWriter.
var errInUse = errors.New("another program has it open for writing")

// checkNoWriter never fails: this system has no leases.
func checkNoWriter(*os.File) error { return nil }
