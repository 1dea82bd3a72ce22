//go:build unix

package supervise

import (
	"os"
	"syscall"
)

// isPrivateDir reports whether a directory belongs to this user and is closed to others.
func isPrivateDir(info os.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(stat.Uid) == os.Getuid() && info.Mode().Perm()&0o077 == 0
}
