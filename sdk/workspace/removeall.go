package workspace

import (
	"errors"
	"io/fs"
	"os"
)

// removeAll removes what is this package's to throw away. A directory that its owner has closed to himself is opened
// for that: it would stay behind otherwise, under a name that nobody knows.
func removeAll(dir *os.Root, name string) error {
	err := dir.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) || openUp(dir, name) != nil {
		return err
	}
	return dir.RemoveAll(name)
}

// openUp lets the owner into a directory and all below.
func openUp(dir *os.Root, name string) error {
	info, err := dir.Lstat(name)
	if err != nil || !info.IsDir() {
		return err
	}
	if err := dir.Chmod(name, newDir); err != nil {
		return err
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	handle, err := sub.Open(".")
	if err != nil {
		return err
	}
	entries, err := handle.ReadDir(-1)
	if err := errors.Join(err, handle.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := openUp(sub, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}
