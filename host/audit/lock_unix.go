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

// withDirLock runs do while holding the directory lock. The lock ends with the process.
func (l *Log) withDirLock(do func() error) error {
	return withLock(l.dir, filelock.Lock, l.lockTimeout, do)
}

// withLock runs do while holding a lock on a directory, for which it waits until the timeout.
func withLock(dir *os.File, take func(*os.File) error, timeout time.Duration, do func() error) error {
	deadline := time.Now().Add(timeout)
	for pause := 20 * time.Microsecond; ; pause = min(2*pause, 2*time.Millisecond) {
		err := take(dir)
		switch {
		case err == nil || errors.Is(err, unix.ENOTSUP): // without locks, only single lines are written atomically
			defer func() { _ = filelock.Unlock(dir) }()
			return do()
		case !errors.Is(err, filelock.ErrLocked):
			return err
		case time.Now().After(deadline):
			return fmt.Errorf("another process has held the lock on %s for %s", dir.Name(), timeout)
		}
		time.Sleep(pause)
	}
}

// withSharedDirLock runs do while no writer rotates files.
func withSharedDirLock(dir *os.File, do func() error) error {
	return withLock(dir, filelock.LockShared, lockTimeout, do)
}

// ignoreUnsupportedSyncError returns nil for the error of a file that can't be synced, such as a device. It returns other
// errors unchanged.
func ignoreUnsupportedSyncError(err error) error {
	if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOTSUP) {
		return nil
	}
	return err
}
