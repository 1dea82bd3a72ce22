// Package filelock locks files, so that two processes do not do what only one may. The kernel releases a lock when its
// process ends, however it ends. The package must not know what is locked, nor why.
package filelock

import (
	"errors"
	"os"
)

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// Lock locks an open file or directory until it is unlocked or closed, and fails with ErrLocked if another process holds
// a lock on it. Children do not inherit the lock.
func Lock(file *os.File) error { return lock(file, tryExclusive) }

// LockShared is Lock with a lock that several processes can hold.
func LockShared(file *os.File) error { return lock(file, tryShared) }

// Wait is Lock, but waits until no other process holds a lock.
func Wait(file *os.File) error { return lock(file, waitExclusive) }

// WaitShared is LockShared, but waits until no other process holds an exclusive lock.
func WaitShared(file *os.File) error { return lock(file, waitShared) }

// Open opens a file, which it creates for this user alone, and locks it with one of the functions above. It follows no
// symlink.
func Open(path string, lock func(*os.File) error) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|NonBlock|NoFollow, 0o600)
	if err != nil {
		return nil, err
	}
	if err := lock(file); err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}
