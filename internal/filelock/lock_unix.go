//go:build unix

// Package filelock locks files, so that two processes do not do what only one may. The kernel gives a lock back,
// however its process ends. The package must not know what is locked, nor why.
package filelock

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Flags to open a file with that lies where others can put something.
const (
	NonBlock = unix.O_NONBLOCK // what they have put there must not hold us up
	NoFollow = unix.O_NOFOLLOW
)

// ErrLocked says that somebody else holds the lock.
var ErrLocked = errors.New("locked by another process")

// Lock locks an open file for as long as it is open. Children do not get it.
func Lock(file *os.File) error {
	raw, err := file.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { failed = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
		return err
	}
	switch {
	case errors.Is(failed, unix.EWOULDBLOCK):
		return ErrLocked
	case failed != nil:
		return fmt.Errorf("%s cannot be locked, and two processes could have it at once; have it on a local file system: %w",
			file.Name(), failed)
	}
	return nil
}
