//go:build unix

// Package owner gives files that root creates in a home to the owner of the home, so that this user can read and change
// them. It must not know the purpose of the files.
package owner

import (
	"os"
	"syscall"
)

// GiveToHomeOwner changes the owner of a file to the owner of the home, if this process is root.
func GiveToHomeOwner(home, path string) error {
	info, err := os.Stat(home)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && os.Getuid() == 0 {
		return os.Lchown(path, int(stat.Uid), int(stat.Gid))
	}
	return nil
}
