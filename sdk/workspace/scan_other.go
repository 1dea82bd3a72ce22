//go:build !linux

package workspace

import (
	"os"
	"path"
)

// queuedDir is a directory waiting to be read.
type queuedDir struct {
	top  *os.Root
	path string // relative to it
}

// newTopQueuedDir returns the directory where a scan begins.
func newTopQueuedDir(top *os.Root) (queuedDir, error) { return queuedDir{top, "."}, nil }

// releaseParent does nothing on this system.
func (queuedDir) releaseParent() {}

func (at queuedDir) openDir() (*os.File, error) {
	opened, err := accessTarget{dir: at.top, name: at.path}.openDir()
	if err != nil {
		return nil, err
	}
	d, err := duplicateDirHandle(opened)
	_ = opened.Close()
	return d, err
}

// newQueuedSubdirs returns the selected subdirectories of the open directory d. It takes over d.
func (at queuedDir) newQueuedSubdirs(d *os.File, names []string) []queuedDir {
	_ = d.Close()
	found := make([]queuedDir, len(names))
	for i, name := range names {
		found[i] = queuedDir{at.top, path.Join(at.path, name)}
	}
	return found
}
