//go:build unix

package store

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// checkOnlyOwnerWrites returns an error if a user other than this one and root can write to a file or directory.
func checkOnlyOwnerWrites(path string, info fs.FileInfo) error {
	stat, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case ok && stat.Uid != uint32(os.Getuid()) && stat.Uid != 0:
		return fmt.Errorf("%s belongs to another user (uid %d), so other users could put any program there; no installed plugin is started", path, stat.Uid)
	case info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s can be written by others, so other users could put any program there; no installed plugin is started: chmod go-w %s", path, path)
	}
	return nil
}
