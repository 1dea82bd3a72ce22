//go:build unix

package halt

import (
	"errors"
	"os"
	"syscall"
)

// giveAs gives a file to the owner of the instance root, where root has made it for somebody else.
func giveAs(home, path string) error {
	info, err := os.Stat(home)
	if err != nil {
		return err
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && os.Getuid() == 0 {
		return os.Lchown(path, int(stat.Uid), int(stat.Gid))
	}
	return nil
}

// full reports whether an error is that there is no room.
func full(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
