//go:build unix

package pidfile

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

const (
	nonblock = unix.O_NONBLOCK // what somebody else has put there must not hold us up
	nofollow = unix.O_NOFOLLOW
)

// lock locks an open file for as long as it is open. Children do not get it.
func lock(file *os.File) error {
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
		return errLocked
	case failed != nil:
		return fmt.Errorf("%s cannot be locked, so that two daemons could not be told apart; have the instance root on a local file system: %w", file.Name(), failed)
	}
	return nil
}
