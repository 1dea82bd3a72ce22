//go:build unix

package filelock

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Flags to open a file in a directory where others can create files.
const (
	NonBlock = unix.O_NONBLOCK // a FIFO must not block
	NoFollow = unix.O_NOFOLLOW
)

const (
	tryExclusive  = unix.LOCK_EX | unix.LOCK_NB
	tryShared     = unix.LOCK_SH | unix.LOCK_NB
	waitExclusive = unix.LOCK_EX
	waitShared    = unix.LOCK_SH
)

func applyLock(file *os.File, how int) error {
	switch err := flockRetry(file, how); {
	case errors.Is(err, unix.EWOULDBLOCK):
		return ErrLocked
	case err != nil:
		return fmt.Errorf("%s cannot be locked, so two processes could use it at once; move it to a local file system: %w",
			file.Name(), err)
	}
	return nil
}

// Unlock releases the lock on an open file.
func Unlock(file *os.File) error { return flockRetry(file, unix.LOCK_UN) }

func flockRetry(file *os.File, how int) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	failed := unix.EINTR
	if err := raw.Control(func(fd uintptr) {
		for failed == unix.EINTR {
			failed, _ = unix.Flock(int(fd), how).(unix.Errno)
		}
	}); err != nil {
		return err
	}
	if failed != 0 {
		return failed
	}
	return nil
}

// IsUnsupported reports whether an error means that the file system has no locks.
func IsUnsupported(err error) bool {
	return errors.Is(err, unix.ENOLCK) || errors.Is(err, unix.ENOTSUP) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EBADF)
}
