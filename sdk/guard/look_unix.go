//go:build unix

package guard

import (
	"os"
	"syscall"
)

// look looks a name up, as [os.Lstat] does: without what that remembers of a file, as one command may have hundreds of names.
func look(path string) (e entry) {
	var stat syscall.Stat_t
	err := syscall.Lstat(path, &stat)
	for err == syscall.EINTR {
		err = syscall.Lstat(path, &stat)
	}
	switch {
	case err == syscall.ENOENT || err == syscall.ENOTDIR:
		e.missing = true
	case err != nil:
		e.err = &os.PathError{Op: "lstat", Path: path, Err: err}
	case stat.Mode&syscall.S_IFMT == syscall.S_IFLNK:
		e.target, e.err = os.Readlink(path)
	default:
		e.dir = stat.Mode&syscall.S_IFMT == syscall.S_IFDIR
	}
	return e
}
