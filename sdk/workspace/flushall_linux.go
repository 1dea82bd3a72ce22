package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flushAll has the file system that a directory is on on the disk, unless the kernel or a sandbox does not do that.
func flushAll(dir *os.File) (done bool, err error) {
	err = unix.Syncfs(int(dir.Fd()))
	return !errors.Is(err, unix.ENOSYS) && !errors.Is(err, unix.EPERM), err
}
