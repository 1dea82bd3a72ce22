package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// target is where a change takes place: one name in an open directory. The directory stays the same whatever becomes of
// its own name.
type target struct {
	dir    *os.Root
	own    bool     // dir is to be closed with the target
	handle *os.File // the same directory, for locks and syncs
	name   string   // a single element
	path   string   // absolute and resolved, to be told and not to be opened
	asked  string   // as the caller wrote it
	exact  bool

	inPlace *inPlace // in place of dir: a single file whose directory is closed; handle is the file then
}

// missing is the error for a target whose directory is not there yet.
type missing struct {
	at  place
	err error
}

func (e *missing) Error() string { return e.err.Error() }
func (e *missing) Unwrap() error { return e.err }

// target opens the directory of a path that is to be changed. A link at the end of the path is followed for writing,
// and stands for itself where it is to be moved or deleted.
func (w *Workspace) target(access guard.Access, path string) (*target, error) {
	return w.targetAs(access, access != guard.Delete, path)
}

func (w *Workspace) targetAs(access guard.Access, follow bool, path string) (*target, error) {
	var t *target
	err := w.useAs(access, follow, path, func(at place) (err error) {
		real := filepath.Join(at.dir.Name(), at.name)
		if err := w.held(access, path, real); err != nil {
			return err
		}
		if t, err = at.target(path); err != nil {
			return err
		}
		if err := w.still(t, real); err != nil {
			t.close()
			return err
		}
		return nil
	})
	return t, err
}

func (at place) target(asked string) (*target, error) {
	if at.name == "." {
		return nil, notRegular(asked, fs.ModeDir)
	}
	dir, own := at.dir, at.exact
	parent := filepath.Dir(at.name)
	if own = own || parent != "."; own { // that of an exact place is closed before the target is
		var err error
		if dir, err = at.dir.OpenRoot(parent); err != nil {
			if errors.Is(err, fs.ErrNotExist) && !at.exact {
				return nil, &missing{at, err}
			}
			return nil, err
		}
	}
	handle, err := dir.OpenFile(".", os.O_RDONLY|nonblock, 0)
	if err != nil {
		if own {
			_ = dir.Close()
		}
		return nil, err
	}
	return &target{
		dir:    dir,
		own:    own,
		handle: handle,
		name:   filepath.Base(at.name),
		path:   filepath.Join(at.dir.Name(), at.name),
		asked:  asked,
		exact:  at.exact,
	}, nil
}

func (t *target) close() {
	_ = t.handle.Close()
	if t.own {
		_ = t.dir.Close()
	}
}

// place is the target as something to be read.
func (t *target) place() place { return place{dir: t.dir, name: t.name, exact: t.exact} }

// is reports whether two targets are the same name in the same directory.
func (t *target) is(other *target) bool {
	if t.handle == nil || other.handle == nil { // only tried, in a directory that is not there
		return t.path == other.path
	}
	a, errA := t.handle.Stat()
	b, errB := other.handle.Stat()
	return errA == nil && errB == nil && t.name == other.name && os.SameFile(a, b)
}

// sync puts the directory's entries on disk, after a change.
func (t *target) sync() error {
	if err := flushDir(t.handle); err != nil {
		return &Error{Code: Unsettled, Path: t.asked, Err: err}
	}
	return nil
}
