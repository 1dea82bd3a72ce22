// Package filelock locks files between processes. The kernel releases a lock when its process ends. The package must
// not know the purpose of a lock.
package filelock

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// ErrLocked means that another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// Lock locks an open file or directory until it is unlocked or closed. It fails with ErrLocked if another process holds
// a lock on it. Child processes do not inherit the lock.
func Lock(file *os.File) error { return applyLock(file, tryExclusive) }

// retryPause is the pause between two tries of LockWithin.
const retryPause = 5 * time.Millisecond

// LockWithin returns a function that locks like Lock, but tries again for some time while another process holds a lock.
func LockWithin(timeout time.Duration) func(*os.File) error {
	return func(file *os.File) error {
		for end := time.Now().Add(timeout); ; time.Sleep(retryPause) {
			if err := Lock(file); !errors.Is(err, ErrLocked) || time.Now().After(end) {
				return err
			}
		}
	}
}

// LockShared takes a lock that several processes can hold at once.
func LockShared(file *os.File) error { return applyLock(file, tryShared) }

// LockWaiting locks like Lock, but waits while another process holds a lock.
func LockWaiting(file *os.File) error { return applyLock(file, waitExclusive) }

// LockSharedWaiting locks like LockShared, but waits while another process holds an exclusive lock.
func LockSharedWaiting(file *os.File) error { return applyLock(file, waitShared) }

// OpenLocked opens a file and locks it with lock: Lock, LockShared or a waiting variant. It creates a missing file,
// accessible only to this user.
func OpenLocked(path string, lock func(*os.File) error) (*os.File, error) {
	return OpenLockedFlags(path, os.O_RDWR|os.O_CREATE, lock)
}

// OpenLockedFlags is OpenLocked with open flags. It follows no symlink. It retries until the locked file is the one at path,
// because the previous holder of the lock may remove the file before the release.
func OpenLockedFlags(path string, flag int, lock func(*os.File) error) (*os.File, error) {
	for {
		if there, err := os.Lstat(path); err == nil && !there.Mode().IsRegular() {
			return nil, fmt.Errorf("%s is not a regular file; move it away", path)
		}
		file, err := os.OpenFile(path, flag|NonBlock|NoFollow, 0o600)
		if err != nil {
			return nil, err
		}
		err = lock(file)
		if err == nil && isFileAt(file, path) {
			return file, nil
		}
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, err
		}
	}
}

// isFileAt reports whether an open regular file is the one at path.
func isFileAt(file *os.File, path string) bool {
	opened, err := file.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && opened.Mode().IsRegular() && os.SameFile(opened, there)
}
