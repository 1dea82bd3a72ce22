//go:build !linux

package workspace

import (
	"os"
	"path"
)

// subdir is a directory to scan.
type subdir struct {
	top  *os.Root
	path string // relative to it
}

// scanTop returns the directory where a scan begins.
func scanTop(top *os.Root) (subdir, error) { return subdir{top, "."}, nil }

// release ends the use of the parent directory.
func (subdir) release() {}

func (at subdir) openSelf() (*os.File, error) {
	opened, err := pathPlace{dir: at.top, name: at.path}.openDir()
	if err != nil {
		return nil, err
	}
	d, err := entriesHandle(opened)
	_ = opened.Close()
	return d, err
}

// subdirs returns the selected subdirectories. It takes over d.
func (at subdir) subdirs(d *os.File, names []string) []subdir {
	_ = d.Close()
	found := make([]subdir, len(names))
	for i, name := range names {
		found[i] = subdir{at.top, path.Join(at.path, name)}
	}
	return found
}
