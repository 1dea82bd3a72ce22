package workspace

import (
	"errors"
	"fmt"
	"os"
	"path"
)

// dirStack holds the directories open that a tree is made in. Names are slash-separated, relative to the tree, and come
// in the order of a walk: a directory, then all that is in it, then what is beside it. So each is made in a directory
// that is open already, however deep it is.
type dirStack struct {
	open []*openedDir // the directory that is being filled comes last, each in the one before
}

// openedDir is a directory that is being filled.
type openedDir struct {
	name string // relative to the tree
	in   *os.Root
	base string
	dir  *os.Root
	meta Meta
}

// enter makes a directory that is filled from now on.
func (s *dirStack) enter(name string, in *os.Root, base string, meta Meta) error {
	if err := in.Mkdir(base, newDir); err != nil {
		return err
	}
	dir, err := in.OpenRoot(base)
	if err != nil {
		return err
	}
	s.open = append(s.open, &openedDir{name, in, base, dir, meta})
	return nil
}

// leave gives the last directory its metadata, now that it is full: it may be closed to its writer from then on, and
// what is made in it would change its time.
func (s *dirStack) leave() error {
	last := s.open[len(s.open)-1]
	s.open = s.open[:len(s.open)-1]
	return errors.Join(last.meta.Give(last.in, last.base), last.dir.Close())
}

// at returns the directory that a name is in, and leaves those that are full by that.
func (s *dirStack) at(name string) (in *os.Root, base string, err error) {
	dir := path.Dir(name)
	for s.open[len(s.open)-1].name != dir {
		if len(s.open) == 1 {
			return nil, "", fmt.Errorf("%s is not in the directory that is being filled", name)
		}
		if err := s.leave(); err != nil {
			return nil, "", err
		}
	}
	return s.open[len(s.open)-1].dir, path.Base(name), nil
}
