package audit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserveSpace allocates disk space at an offset without changing the file's size. It returns nil if the file system
// can't.
func reserveSpace(f *os.File, offset, size int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, offset, size)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EIO) || errors.Is(err,
		unix.EROFS) {
		return err
	}
	return nil
}
