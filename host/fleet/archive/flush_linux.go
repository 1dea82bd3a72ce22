package archive

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// flush has the file system that a directory is on on the disk.
func flush(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(unix.Syncfs(int(f.Fd())), f.Close())
}
