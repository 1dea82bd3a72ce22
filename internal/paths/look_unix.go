//go:build unix

package paths

import (
	"os"
	"syscall"
)

// readEntry reads a directory entry, and the target if it is a symlink.
func readEntry(path string) (e cachedDirEntry) {
	var target [256]byte
	n, err := syscall.Readlink(path, target[:])
	for err == syscall.EINTR {
		n, err = syscall.Readlink(path, target[:])
	}
	switch {
	case err == syscall.EINVAL: // no link
	case err == syscall.ENOENT || err == syscall.ENOTDIR:
		e.missing = true
	case err != nil:
		e.err = &os.PathError{Op: "readlink", Path: path, Err: err}
	case n == len(target):
		e.target, e.err = os.Readlink(path)
	default:
		e.target = string(target[:n])
	}
	return e
}
