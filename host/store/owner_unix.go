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
		return fmt.Errorf("%s belongs to another user (uid %d), who could replace programs; no installed plugin is started", path, stat.Uid)
	case info.Mode()&fs.ModeSymlink == 0 && info.Mode().Perm()&0o022 != 0:
		return fmt.Errorf("%s is writable by other users, who could replace programs; no installed plugin is started; run chmod go-w %s", path, path)
	}
	return nil
}
