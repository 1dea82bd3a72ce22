package audit

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// reserve makes sure that bytes can be written at an offset, without changing how long the file is. Where the file
// system can't tell, it says nothing.
func reserve(f *os.File, offset, size int64) error {
	err := unix.Fallocate(int(f.Fd()), unix.FALLOC_FL_KEEP_SIZE, offset, size)
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EIO) || errors.Is(err,
		unix.EROFS) {
		return err
	}
	return nil
}
