package workspace

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve has room on the disk for a file that is to grow. A file system that can't promise any is no reason not to
// try.
func reserve(f *os.File, size int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, 0, size)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EFBIG) {
		return &os.PathError{Op: "write", Path: f.Name(), Err: err}
	}
	return nil
}
