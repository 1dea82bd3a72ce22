//go:build !linux

package workspace

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// preserveMetadata copies only the mode of a file to its replacement on this system.
func preserveMetadata(_ *os.File, info fs.FileInfo, f *os.File) error {
	return f.Chmod(info.Mode().Perm())
}

// copyModeAndXattrs copies only the mode of a file on this system.
func copyModeAndXattrs(_ *os.File, info fs.FileInfo, to *os.File) error {
	return to.Chmod(info.Mode().Perm())
}

// ReadXattrs always returns nil on this system.
func ReadXattrs(*os.File) (map[string]string, error) { return nil, nil }

// replaceXattrs does nothing on this system.
func replaceXattrs(*os.File, map[string]string) error { return nil }

func setSymlinkTime(*os.File, string, time.Time) error { return nil }

// readCreationTime returns the time when a file was created; zero if unknown.
func (w *Workspace) readCreationTime(string, fs.FileInfo) time.Time { return time.Time{} }

// FileRevision returns a string that changes with each change of a file, without reading the file. It consists of
// inode, size and change times, which programs can't set. It is empty if the next change could go unnoticed: the file
// changed just now or has a future time.
//
// Changes through a memory mapping become visible when the kernel notices them, within half a minute.
func FileRevision(fs.FileInfo) string { return "" }

// hasHoles returns false on this system.
func hasHoles(fs.FileInfo) bool { return false }

// nextDataRegion returns the next data region from an offset; from equals to if only a hole follows. On file systems
// without sparse files the whole rest is one region. The file offset is undefined afterwards.
func nextDataRegion(_ *os.File, at, size int64) (from, to int64, err error) { return at, size, nil }

// reserveSpace allocates disk space for a growing file, where supported.
func reserveSpace(*os.File, int64) error { return nil }

// syncFileSystem syncs the file system of a directory, where supported and permitted.
func syncFileSystem(*os.File) (done bool, err error) { return false, nil }

// renameAt renames between two open directories. Without replace it never overwrites.
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
