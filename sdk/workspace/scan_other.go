//go:build !linux

package workspace

import (
	"os"
	"path"
)

// subdir is a directory to look into. That it is opened below the top, wherever its name leads by then, keeps it
// inside.
type subdir struct {
	top  *os.Root
	path string // relative to it
}

// topmost is where a scan begins.
func topmost(top *os.Root) (subdir, error) { return subdir{top, "."}, nil }

// leave has nothing to let go.
func (subdir) leave() {}

func (at subdir) open() (*os.File, error) {
	opened, err := place{dir: at.top, name: at.path}.openDir()
	if err != nil {
		return nil, err
	}
	d, err := entries(opened)
	_ = opened.Close()
	return d, err
}

// below are the directories in this one to look into.
func (at subdir) below(d *os.File, names []string) []subdir {
	_ = d.Close()
	found := make([]subdir, len(names))
	for i, name := range names {
		found[i] = subdir{at.top, path.Join(at.path, name)}
	}
	return found
}
