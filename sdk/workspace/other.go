//go:build !linux

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// keepMetadata copies owner, extended attributes and mode of a file to its replacement. If the owner can't be set, it
// returns errForeign.
func keepMetadata(_ *os.File, info fs.FileInfo, f *os.File) error {
	return f.Chmod(info.Mode().Perm())
}

// copyMetadata copies mode and extended attributes to a copy, which keeps its owner.
func copyMetadata(_ *os.File, info fs.FileInfo, to *os.File) error {
	return to.Chmod(info.Mode().Perm())
}

// ReadAttributes returns the settable extended attributes of an open file or directory by name; nil if the file system
// has none.
func ReadAttributes(*os.File) (map[string]string, error) { return nil, nil }

// replaceAttributes sets extended attributes of an open file or directory, and removes all others.
func replaceAttributes(*os.File, map[string]string) error { return nil }

func setLinkTime(*os.File, string, time.Time) error { return nil }

// creationTime returns when a file was created; zero if unknown.
func (w *Workspace) creationTime(string, fs.FileInfo) time.Time { return time.Time{} }

// FileRevision identifies the state of a file without reading it: by inode, size, and change times, which programs
// can't set. It is empty if the next change could go unnoticed, for files changed just now or with a future time.
//
// Changes through a memory mapping become visible when the kernel notices them, within half a minute.
func FileRevision(fs.FileInfo) string { return "" }

// hasHoles reports whether a file is sparse.
func hasHoles(fs.FileInfo) bool { return false }

// nextData returns the next data region from an offset; from equals to if there is none. File systems without sparse
// files have one region. The file offset is undefined afterwards.
func nextData(_ *os.File, at, size int64) (from, to int64, err error) { return at, size, nil }

// reserveSpace allocates disk space for a growing file, where supported.
func reserveSpace(*os.File, int64) error { return nil }

// syncFileSystem syncs the file system of a directory, where supported and permitted.
func syncFileSystem(*os.File) (done bool, err error) { return false, nil }

// renameAt renames between two open directories; without replace it never overwrites.
func renameAt(from, to *changeTarget, replace bool) error {
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
			return &Error{Code: Exists, Path: to.written}
		}
	}
	return from.dir.Rename(from.name, to.name)
}
