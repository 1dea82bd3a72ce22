package supervise

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// takeLock opens a file and locks it for as long as it stays open; it fails at once if another process holds it.
func takeLock(path string) (*os.File, error) {
	return lock(path, windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY)
}

// waitForLock is like takeLock but waits for its turn.
func waitForLock(path string) (*os.File, error) { return lock(path, windows.LOCKFILE_EXCLUSIVE_LOCK) }

func lock(path string, how uint32) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if err := windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{}); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// ours leaves it to the system's own permissions: what a user's directories have in them is that user's.
func ours(os.FileInfo) bool { return true }
