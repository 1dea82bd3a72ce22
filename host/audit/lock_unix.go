//go:build unix

package audit

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/filelock"
)

// locked does something while it holds the lock on the directory. The lock goes with the process that holds it.
func (l *Log) locked(do func() error) error {
	if err := lock(l.dir, filelock.Lock, l.lockTimeout); err != nil {
		return err
	}
	defer func() { _ = filelock.Unlock(l.dir) }()
	return do()
}

func lock(dir *os.File, take func(*os.File) error, timeout time.Duration) error {
	deadline := time.Now().Add(timeout)
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 2*time.Millisecond) {
		err := take(dir)
		switch {
		case err == nil || errors.Is(err, unix.ENOTSUP):
			return nil // on a file system without locks a single line is all that is kept whole
		case !errors.Is(err, filelock.ErrLocked):
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("another process has held the lock on %s for %s", dir.Name(), timeout)
		}
		time.Sleep(pause)
	}
}

// shared does something while no writer puts files aside.
func shared(dir *os.File, do func() error) error {
	if err := lock(dir, filelock.LockShared, lockTimeout); err != nil {
		return err
	}
	defer func() { _ = filelock.Unlock(dir) }()
	return do()
}

// ignoreUnsupported leaves out the error of what can't be put on disk, such as a device or some directories.
func ignoreUnsupported(err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}
