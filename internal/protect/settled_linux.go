package protect

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const nonblock = unix.O_NONBLOCK

// CheckNoWriterOrLink returns an error if a file has another hard link, or if a program has it open for writing. It also
// returns one if the file system cannot tell.
func CheckNoWriterOrLink(f *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Nlink != 1 {
		return errors.New("it has another name, by which it could be changed")
	}
	if err := setLease(f, unix.F_RDLCK); err != nil {
		return errors.New("it is open for writing, or this file system cannot tell")
	}
	return setLease(f, unix.F_UNLCK)
}

// setLease takes or releases a lease on a file. The kernel refuses a read lease while a program has the file open for
// writing.
func setLease(f *os.File, kind int) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, kind)
	return err
}

// inodeAndChangeTime returns the inode and the change time of a directory, or 0 if it does not exist.
func inodeAndChangeTime(dir string) (inode uint64, changed int64) {
	var stat unix.Stat_t
	if unix.Lstat(dir, &stat) != nil {
		return 0, 0
	}
	return stat.Ino, stat.Ctim.Nano()
}

// CanDetectWriters reports whether the file system of a path can tell that a file is open for writing.
func CanDetectWriters(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = f.Close() }()
	err = setLease(f, unix.F_RDLCK)
	return err == nil && setLease(f, unix.F_UNLCK) == nil || errors.Is(err, unix.EAGAIN)
}
