//go:build !unix

package paths

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// readEntry reads a directory entry, and the target if it is a symlink.
func readEntry(path string) (e cachedDirEntry) {
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		e.missing = true
	case err != nil:
		e.err = err
	case info.Mode()&fs.ModeSymlink != 0:
		e.target, e.err = os.Readlink(path)
		e.target = filepath.FromSlash(e.target)
	default:
		e.real, _ = filepath.EvalSymlinks(path) // the long form of a short name, in its own case
	}
	return e
}
