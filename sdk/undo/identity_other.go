//go:build unix && !linux

package undo

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// fileIdentity returns the device and inode number of a file, or "" if the system does not report them.
func fileIdentity(info fs.FileInfo, _ func() (*os.File, error)) FileIdentity {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ""
	}
	return FileIdentity(fmt.Sprintf("%x:%x", s.Dev, s.Ino))
}
