//go:build !unix

package supervise

import "os"

// takeLock opens a file of its own; on these systems an open file can't be removed, which is lock enough.
func takeLock(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
}

func waitForLock(path string) (*os.File, error) { return takeLock(path) }

func ownedByUs(os.FileInfo) bool { return true }
