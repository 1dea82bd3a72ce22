//go:build unix

// Package owner gives files below an instance root to whoever the root belongs to, so that what root has written there
// for somebody else can be read, and taken back, by them. It must not know what the files are for.
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
