//go:build !linux

package archive

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
)

// flush has the files below a directory on the disk.
func flush(dir string) error {
	return filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.OpenFile(name, os.O_WRONLY, 0)
		if errors.Is(err, fs.ErrPermission) {
			return nil // there is no other way to it
		}
		if err != nil {
			return err
		}
		return errors.Join(f.Sync(), f.Close())
	})
}
