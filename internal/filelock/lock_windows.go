package filelock

import (
	"errors"
	"fmt"
	"math"
	"os"

	"golang.org/x/sys/windows"
)

// NonBlock and NoFollow are nothing here.
const NonBlock, NoFollow = 0, 0

// ErrLocked says that somebody else holds the lock.
var ErrLocked = errors.New("locked by another process")

// Lock locks an open file for as long as it is open: a byte behind all that it will ever hold, because here nobody else
// can read what is locked.
func Lock(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = raw.Control(func(fd uintptr) {
		far := windows.Overlapped{OffsetHigh: math.MaxInt32}
		const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
		failed = windows.LockFileEx(windows.Handle(fd), flags, 0, 1, 0, &far)
	})
	switch {
	case err != nil:
		return err
	case errors.Is(failed, windows.ERROR_LOCK_VIOLATION):
		return ErrLocked
	case failed != nil:
		return fmt.Errorf("%s cannot be locked: %w", file.Name(), failed)
	}
	return nil
}
