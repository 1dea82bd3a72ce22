package workspace

import (
	"fmt"
	"os"
	"path/filepath"
)

// useExact gives op the parent directory of a resolved path, opened without following any symbolic link: if a part of
// the path has become a link since it was resolved, the directory that was opened is another one, and nothing happens.
func (w *Workspace) useExact(real string, op func(place) error) error {
	parent := filepath.Dir(real)
	dir, err := os.OpenRoot(parent)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	opened, err := dir.Stat(".")
	if err != nil {
		return err
	}
	meant, err := statExactly(parent)
	if err != nil {
		return err
	}
	if !os.SameFile(opened, meant) {
		return fmt.Errorf("%s was replaced while it was in use", parent)
	}
	name := filepath.Base(real)
	info, err := dir.Lstat(name)
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		return refused(real, "workspace.symlink", outsideSymlink)
	}
	return op(place{dir: dir, name: name, exact: true})
}
