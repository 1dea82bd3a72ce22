package killswitch

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// readDiskSpace returns the disk space for this user at a directory; zero if unknown.
func readDiskSpace(dir string) diskSpace {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil || s.Bsize <= 0 {
		return diskSpace{}
	}
	return diskSpace{s.Blocks * uint64(s.Bsize), s.Bavail * uint64(s.Bsize), s.Files, s.Ffree}
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
		return fillWithZeros(file, size)
	}
	return err
}
