//go:build unix && !linux

package undo

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// identityOf returns device and inode.
func identityOf(info fs.FileInfo, _ func() (*os.File, error)) Identity {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return Identity(fmt.Sprintf("%x:%x", s.Dev, s.Ino))
}
