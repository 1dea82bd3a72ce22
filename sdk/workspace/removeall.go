package workspace

import (
	"errors"
	"io/fs"
	"os"
)

// removeOwn removes a temporary tree, and makes its directories accessible if necessary.
func removeOwn(dir *os.Root, name string) error {
	err := dir.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) || makeAccessible(dir, name) != nil {
		return err
	}
	return dir.RemoveAll(name)
}

// makeAccessible gives the owner access to a directory and all below.
func makeAccessible(dir *os.Root, name string) error {
	info, err := dir.Lstat(name)
	if err != nil || !info.IsDir() {
		return err
	}
	if err = dir.Chmod(name, newDirMode); err != nil {
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
	if err = errors.Join(err, handle.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := makeAccessible(sub, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}
