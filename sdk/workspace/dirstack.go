package workspace

import (
	"errors"
	"fmt"
	"os"
	"path"
)

// dirStack is the chain of open directories while a tree is created. Names arrive in depth-first order, slash-separated
// and relative to the tree. Each entry is created in an open directory, so the depth is not limited by the path length.
type dirStack struct {
	dirs []*stackedDir // from the top to the current directory
}

// stackedDir is a directory whose entries are being created.
type stackedDir struct {
	name string // relative to the tree
	in   *os.Root
	base string
	dir  *os.Root
	meta FileMeta
}

// pushNewDir creates a directory, opens it and puts it on the stack.
func (s *dirStack) pushNewDir(name string, in *os.Root, base string, meta FileMeta) error {
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

// popDir sets the metadata of the innermost directory and closes it. The metadata comes last, because it may remove
// write permission and new entries change the time.
func (s *dirStack) popDir() error {
	last := s.dirs[len(s.dirs)-1]
	s.dirs = s.dirs[:len(s.dirs)-1]
	return errors.Join(last.meta.ApplyTo(last.in, last.base), last.dir.Close())
}

// popToParent pops completed directories until the parent of a name is on top, and returns that parent.
func (s *dirStack) popToParent(name string) (in *os.Root, base string, err error) {
	dir := path.Dir(name)
	for s.dirs[len(s.dirs)-1].name != dir {
		if len(s.dirs) == 1 {
			return nil, "", fmt.Errorf("%s is not in the directory that is being filled", name)
		}
		if err := s.popDir(); err != nil {
			return nil, "", err
		}
	}
	return s.dirs[len(s.dirs)-1].dir, path.Base(name), nil
}
