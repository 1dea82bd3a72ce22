//go:build !linux

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// keepMetadata gives a file that is about to take the place of another the other's mode.
func keepMetadata(_ *os.File, info fs.FileInfo, f *os.File) error {
	return f.Chmod(info.Mode().Perm())
}

// copyMetadata gives a copy the mode of what it is a copy of.
func copyMetadata(_ *os.File, info fs.FileInfo, to *os.File) error {
	return to.Chmod(info.Mode().Perm())
}

// Attributes knows of none here.
func Attributes(*os.File) (map[string]string, error) { return nil, nil }

func setAttributes(*os.File, map[string]string) error { return nil }

func setLinkTime(*os.File, string, time.Time) error { return nil }

// created is not known in a way that is the same everywhere.
func (w *Workspace) created(string, fs.FileInfo) time.Time { return time.Time{} }

// Revision is empty: what tells one is not the same everywhere.
func Revision(fs.FileInfo) string { return "" }

// hasHoles is not asked here: holes are copied as the zeros that they read as.
func hasHoles(fs.FileInfo) bool { return false }

func nextData(_ *os.File, at, size int64) (from, to int64, err error) { return at, size, nil }

// reserve does nothing: a disk that is full is found when it is written to.
func reserve(*os.File, int64) error { return nil }

// flushAll does nothing: there is no such call for one file system.
func flushAll(*os.File) (done bool, err error) { return false, nil }

// renameAt renames within one directory. Between two directories there is no call that works on open directories
// everywhere, so the caller copies.
func renameAt(from, to *target, replace bool) error {
	a, errA := from.handle.Stat()
	b, errB := to.handle.Stat()
	if err := errors.Join(errA, errB); err != nil {
		return err
	}
	if !os.SameFile(a, b) {
		return errOtherFileSystem
	}
	if !replace {
		if _, err := to.dir.Lstat(to.name); err == nil {
			return &Error{Code: Exists, Path: to.asked}
		}
	}
	return from.dir.Rename(from.name, to.name)
}
