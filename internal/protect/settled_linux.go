package protect

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

const nonblock = unix.O_NONBLOCK

// checkSettled reports an error for a file that has another name or is open for writing.
func checkSettled(f *os.File) error {
	var stat unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFREG || stat.Nlink != 1 {
		return errors.New("it has another name, by which it could be changed")
	}
	if err := lease(f, unix.F_RDLCK); err != nil {
		return errors.New("it is open for writing, or this file system cannot tell")
	}
	return lease(f, unix.F_UNLCK)
}

// lease takes a lease on a file, which the kernel gives only while nobody has it open for writing.
func lease(f *os.File, kind int) error {
	_, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, kind)
	return err
}

// changeOf returns the inode and the change time of a directory, 0 where there is none.
func changeOf(dir string) (inode uint64, changed int64) {
	var stat unix.Stat_t
	if unix.Lstat(dir, &stat) != nil {
		return 0, 0
	}
	return stat.Ino, stat.Ctim.Nano()
}

// CanSettle reports whether the file system of a path tells who has a file open for writing.
func CanSettle(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return errors.Is(err, os.ErrNotExist)
	}
	defer func() { _ = f.Close() }()
	err = lease(f, unix.F_RDLCK)
	return err == nil && lease(f, unix.F_UNLCK) == nil || errors.Is(err, unix.EAGAIN)
}
