package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// changeTarget is the target of a change: a name in an open directory. The handle stays on the directory even if that
// is renamed.
type changeTarget struct {
	dir     *os.Root
	own     bool     // close dir together with the target
	handle  *os.File // same directory, for locks and syncs
	name    string   // a single element
	path    string   // absolute and resolved, for messages only
	written string   // as written by the caller
	exact   bool

	inPlace *inPlaceWrite // used instead of dir for a file in a read-only directory; handle is that file
}

// missingParentError is the error of openTargetParent if the parent directory does not exist.
type missingParentError struct {
	at  accessTarget
	err error
}

func (e *missingParentError) Error() string { return e.err.Error() }
func (e *missingParentError) Unwrap() error { return e.err }

// openTargetParent opens the directory of a path to change. A write follows a symlink at the end of the path; moving or
// deleting does not.
func (w *Workspace) openTargetParent(access guard.AccessKind, path string) (*changeTarget, error) {
	return w.openTargetParentFollow(access, access != guard.Delete, path)
}

func (w *Workspace) openTargetParentFollow(access guard.AccessKind, follow bool, path string) (*changeTarget, error) {
	var t *changeTarget
	err := w.withAllowedTargetFollow(access, follow, path, func(at accessTarget) (err error) {
		real := filepath.Join(at.dir.Name(), at.name)
		if err = w.refuseProtectedChange(access, path, real); err != nil {
			return err
		}
		if t, err = at.openTargetParent(path); err != nil {
			return err
		}
		if err := w.checkDirUnchanged(t, real); err != nil {
			t.closeHandles()
			return err
		}
		return nil
	})
	return t, err
}

func (at accessTarget) openTargetParent(asked string) (*changeTarget, error) {
	if at.name == "." {
		return nil, notRegularError(asked, fs.ModeDir)
	}
	dir, own := at.dir, at.exact
	parent := filepath.Dir(at.name)
	if own = own || parent != "."; own { // an exact place's handle closes earlier
		var err error
		if dir, err = at.dir.OpenRoot(parent); err != nil {
			if errors.Is(err, fs.ErrNotExist) && !at.exact {
				return nil, &missingParentError{at, err}
			}
			return nil, err
		}
	}
	handle, err := dir.OpenFile(".", os.O_RDONLY|nonblockFlag, 0)
	if err != nil {
		if own {
			_ = dir.Close()
		}
		return nil, err
	}
	return &changeTarget{
		dir:     dir,
		own:     own,
		handle:  handle,
		name:    filepath.Base(at.name),
		path:    filepath.Join(at.dir.Name(), at.name),
		written: asked,
		exact:   at.exact,
	}, nil
}

func (t *changeTarget) closeHandles() {
	_ = t.handle.Close()
	if t.own {
		_ = t.dir.Close()
	}
}

func (t *changeTarget) toAccessTarget() accessTarget {
	return accessTarget{dir: t.dir, name: t.name, exact: t.exact}
}

// isSameTarget reports whether two targets are the same name in the same directory.
func (t *changeTarget) isSameTarget(other *changeTarget) bool {
	if t.handle == nil || other.handle == nil { // only tried, in a missing directory
		return t.path == other.path
	}
	a, errA := t.handle.Stat()
	b, errB := other.handle.Stat()
	return errA == nil && errB == nil && t.name == other.name && os.SameFile(a, b)
}

func (t *changeTarget) syncTargetDir() error {
	if err := syncDir(t.handle); err != nil {
		return &Error{Code: Unsettled, Path: t.written, Err: err}
	}
	return nil
}
