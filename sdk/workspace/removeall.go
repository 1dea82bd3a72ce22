package workspace

import (
	"errors"
	"io/fs"
	"os"
)

// removeTempTree removes a temporary file or tree. It makes directories accessible if necessary.
func removeTempTree(dir *os.Root, name string) error {
	err := dir.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) || makeTreeAccessible(dir, name) != nil {
		return err
	}
	return dir.RemoveAll(name)
}

// makeTreeAccessible adds owner permissions to a directory and all directories below.
func makeTreeAccessible(dir *os.Root, name string) error {
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
			if err := makeTreeAccessible(sub, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}
