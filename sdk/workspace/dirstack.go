package workspace

import (
	"errors"
	"fmt"
	"os"
	"path"
)

// dirStack holds the open directories while a tree is created. Names are slash-separated, relative to the tree, and in
// depth-first order, so that each entry is created in an open directory, at any depth.
type dirStack struct {
	dirs []*stackedDir // from the top to the current directory
}

// stackedDir is a directory being filled.
type stackedDir struct {
	name string // relative to the tree
	in   *os.Root
	base string
	dir  *os.Root
	meta FileMeta
}

// createDir creates a directory and makes it the current one.
func (s *dirStack) createDir(name string, in *os.Root, base string, meta FileMeta) error {
	if err := in.Mkdir(base, newDirMode); err != nil {
		return err
	}
	dir, err := in.OpenRoot(base)
	if err != nil {
		return err
	}
	s.dirs = append(s.dirs, &stackedDir{name, in, base, dir, meta})
	return nil
}

// finishDir sets the metadata of the current directory and closes it. Done last, since it may remove write permission,
// and new entries change the time.
func (s *dirStack) finishDir() error {
	last := s.dirs[len(s.dirs)-1]
	s.dirs = s.dirs[:len(s.dirs)-1]
	return errors.Join(last.meta.ApplyTo(last.in, last.base), last.dir.Close())
}

// parentOf returns the directory of a name, and finishes completed directories.
func (s *dirStack) parentOf(name string) (in *os.Root, base string, err error) {
	dir := path.Dir(name)
	for s.dirs[len(s.dirs)-1].name != dir {
		if len(s.dirs) == 1 {
			return nil, "", fmt.Errorf("%s is not in the directory that is being filled", name)
		}
		if err := s.finishDir(); err != nil {
			return nil, "", err
		}
	}
	return s.dirs[len(s.dirs)-1].dir, path.Base(name), nil
}
