package filelock

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// NonBlock and NoFollow are zero: Windows needs neither flag.
const NonBlock, NoFollow = 0, 0

const (
	tryExclusive  = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	tryShared     = windows.LOCKFILE_FAIL_IMMEDIATELY
	waitExclusive = windows.LOCKFILE_EXCLUSIVE_LOCK
	waitShared    = 0
)

func applyLock(file *os.File, how uint32) error {
	err := withLockRange(file, func(handle windows.Handle, far *windows.Overlapped) error {
		return windows.LockFileEx(handle, how, 0, 1, 0, far)
	})
	switch {
	case errors.Is(err, windows.ERROR_LOCK_VIOLATION):
		return ErrLocked
	case err != nil:
		return fmt.Errorf("%s cannot be locked: %w", file.Name(), err)
	}
	return nil
}

// Unlock releases the lock on an open file.
func Unlock(file *os.File) error {
	return withLockRange(file, func(handle windows.Handle, far *windows.Overlapped) error {
		return windows.UnlockFileEx(handle, 0, 1, 0, far)
	})
}

// withLockRange calls f with the position of the byte to lock. The byte lies beyond the end of the file, since Windows
// forbids reading locked bytes.
func withLockRange(file *os.File, f func(windows.Handle, *windows.Overlapped) error) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		failed = f(windows.Handle(fd), &windows.Overlapped{OffsetHigh: math.MaxInt32})
	})
	return errors.Join(err, failed)
}

// IsUnsupported reports whether an error means that the file system has no locks.
func IsUnsupported(err error) bool { return errors.Is(err, windows.ERROR_NOT_SUPPORTED) }
