package workspace

import (
	"os"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// OpenDir opens a directory. The handle stays on that directory whatever becomes of its name, so a process that is to
// start in it can be given the handle instead of the name.
func (w *Workspace) OpenDir(path string) (*os.File, error) {
	var dir *os.File
	err := w.use(guard.List, path, func(at place) (err error) {
		if at.path != "" {
			dir, err = openExactly(at.path, os.O_RDONLY|directory)
			return err
		}
		root, err := at.dir.OpenRoot(at.name) // fails on anything but a directory, without opening it
		if err != nil {
			return err
		}
		defer func() { _ = root.Close() }()
		dir, err = root.Open(".")
		return err
	})
	return dir, err
}
