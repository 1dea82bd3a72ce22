//go:build unix && !linux

package undo

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// fileIdentity returns the volume and index of a file. It returns "" for a symlink or a file that can't be opened.
func fileIdentity(info fs.FileInfo, _ func() (*os.File, error)) FileIdentity {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return FileIdentity(fmt.Sprintf("%x:%x", s.Dev, s.Ino))
}
