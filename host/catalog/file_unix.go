//go:build unix

package catalog

import (
	"fmt"
	"os"
	"syscall"
)

// fileID returns text that distinguishes files of equal size and time, where possible.
func fileID(info os.FileInfo) string {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return fmt.Sprintf("%d:%d", stat.Dev, stat.Ino)
	}
	return ""
}
