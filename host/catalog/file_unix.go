//go:build unix

package catalog

import (
	"fmt"
	"os"
	"syscall"
)

func isExecutable(info os.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }

// isWorldWritable reports whether all users can write to the file.
func isWorldWritable(info os.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// fileID returns text that distinguishes files of equal size and time, where possible.
func fileID(info os.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
	}
	return ""
}
