//go:build !linux

package workspace

import (
	"errors"
	"os"
)

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
