//go:build unix

package audit

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// lockPatience is how long to wait for a turn. Nobody holds the lock for longer than a write takes, unless stopped.
const lockPatience = 5 * time.Second

// locked does something while it holds the lock on the directory. The lock goes with the process that holds it.
func (l *Log) locked(do func() error) error {
	if err := lock(l.dir, unix.LOCK_EX); err != nil {
		return err
	}
	defer unlock(l.dir)
	return do()
}

func lock(dir *os.File, how int) error {
	deadline := time.Now().Add(lockPatience)
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 2*time.Millisecond) {
		err := unix.Flock(int(dir.Fd()), how|unix.LOCK_NB)
		switch {
		case err == nil || errors.Is(err, unix.ENOTSUP):
			return nil // on a file system without locks a single line is all that is kept whole
		case errors.Is(err, unix.EINTR):
			continue
		case !errors.Is(err, unix.EWOULDBLOCK):
			return fmt.Errorf("lock %s: %w", dir.Name(), err)
		case time.Now().After(deadline):
			return fmt.Errorf("another process has held the lock on %s for %s", dir.Name(), lockPatience)
		}
		time.Sleep(pause)
	}
}

func unlock(dir *os.File) { _ = unix.Flock(int(dir.Fd()), unix.LOCK_UN) }

// shared does something while no writer puts files aside.
func shared(dir *os.File, do func() error) error {
	if err := lock(dir, unix.LOCK_SH); err != nil {
		return err
	}
	defer unlock(dir)
	return do()
}

// ignoreUnsupported leaves out the error of what can't be put on disk, such as a device or some directories.
func ignoreUnsupported(err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}
