package killswitch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// isDiskFull reports whether an error says that the disk is full.
func isDiskFull(err error) bool { return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) }

// diskSpace returns the size of a directory's disk, and the bytes free for this user; 0 if unknown.
func diskSpace(dir string) (total, free uint64) {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil || s.Bsize <= 0 {
		return 0, 0
	}
	return s.Blocks * uint64(s.Bsize), s.Bavail * uint64(s.Bsize)
}

// allocateFile sets the size of a file and allocates its space.
func allocateFile(file *os.File, size int64) error {
	if size == 0 {
		return file.Truncate(0)
	}
	if info, err := file.Stat(); err != nil || info.Size() > size {
		return errors.Join(err, file.Truncate(size))
	}
	err := unix.Fallocate(int(file.Fd()), 0, 0, size)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return fillFile(file, size)
	}
	return err
}
