//go:build unix

package supervise

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// takeLock opens a file and locks it for as long as it stays open; it fails at once if another process holds it.
func takeLock(path string) (*os.File, error) { return flock(path, unix.LOCK_EX|unix.LOCK_NB) }

// waitForLock is like takeLock but waits for its turn.
func waitForLock(path string) (*os.File, error) { return flock(path, unix.LOCK_EX) }

func flock(path string, how int) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), how); err != nil {
		_ = f.Close()
		return nil, err
	}
	return f, nil
}

// ours reports whether a directory belongs to this user, and nobody else may use it.
func ours(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid() && info.Mode().Perm()&0o077 == 0
}
