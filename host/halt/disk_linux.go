package halt

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// isFull reports whether an error says that the disk is full.
func isFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// diskSpace returns the size of the disk of a directory, and the bytes free for this user; 0 if they are unknown.
func diskSpace(dir string) (total, free uint64) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil || s.Bsize <= 0 {
		return 0, 0
	}
	return s.Blocks * uint64(s.Bsize), s.Bavail * uint64(s.Bsize)
}

// allocate makes a file that long, with all of its space.
func allocate(file *os.File, size int64) error {
	if size == 0 {
		return file.Truncate(0)
	}
	if info, err := file.Stat(); err != nil || info.Size() > size {
		return errors.Join(err, file.Truncate(size))
	}
	err := unix.Fallocate(int(file.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return fill(file, size)
	}
	return err
}
