//go:build unix

package catalog

import (
	"fmt"
	"os"
	"syscall"
)

func runnable(info os.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }

// changeable reports whether everybody on this machine could change the file.
func changeable(info os.FileInfo) bool { return info.Mode().Perm()&0o002 != 0 }

// fileID tells a file from another of the same size and time.
func fileID(info os.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
	}
	return ""
}
