package workspace

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// RemoveTree deletes a file, a symlink itself, or with recursive a directory tree. last receives the tree before it is
// deleted; its error cancels.
//
// A directory disappears at once and its space is freed afterwards; if ctx ends earlier, that continues in the
// background.
func (w *Workspace) RemoveTree(ctx context.Context, path string, recursive bool, last func(*Tree) error) error {
	t, err := w.openTarget(guard.Delete, path)
	if err != nil {
		return rootError(err, path)
	}
	defer t.closeHandles()
	unlock, err := w.locks.lockDirs([]*os.File{t.handle})
	if err != nil {
		return err
	}
	defer unlock()
	doomed, err := t.openTree()
	switch {
	case err != nil:
		return err
	case doomed == nil:
		return &fs.PathError{Op: "remove", Path: path, Err: fs.ErrNotExist}
	case doomed.Info.IsDir() && !recursive:
		return &Error{Code: IsDirectory, Path: path}
	}
	if last != nil {
		if err := last(doomed); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if doomed.Info.IsDir() {
		return w.removeDir(ctx, t)
	}
	if err := t.dir.Remove(t.name); err != nil {
		return err
	}
	return t.syncDir()
}

// removeDir deletes a directory. It renames it first, so that other processes see all or nothing, and the next process
// can complete the deletion.
func (w *Workspace) removeDir(ctx context.Context, t *changeTarget) error {
	temp, err := t.newTemp(w)
	if err != nil {
		return err
	}
	if temp.dir, err = t.dir.OpenRoot("."); err != nil { // the goroutine needs it longer
		temp.freeRecord()
		return err
	}
	if err = t.dir.Rename(t.name, temp.name); err != nil {
		temp.freeRecord()
		return errors.Join(err, temp.dir.Close())
	}
	freed := make(chan error, 1)
	go func() {
		removeErr := removeOwn(temp.dir, temp.name)
		if removeErr == nil {
			temp.freeRecord()
		}
		freed <- errors.Join(removeErr, temp.dir.Close())
	}()
	if err = t.syncDir(); err != nil {
		return err
	}
	select {
	case err = <-freed:
	case <-ctx.Done():
	}
	if err != nil {
		return &Error{Code: Leftover, Path: t.written, Err: fmt.Errorf("%s now: %w", temp.name, err)}
	}
	return nil
}

// rootError replaces the error of moving or deleting an allowed directory itself.
func rootError(err error, path string) error {
	var what fileKind
	if errors.As(err, &what) && fs.FileMode(what).IsDir() {
		return newRefusal(path, "workspace.root", fmt.Sprintf("access denied: %s is the workspace itself", path))
	}
	return err
}

// MakeDir creates a directory and its missing parents. An existing directory is no error; made reports whether it is
// new.
func (w *Workspace) MakeDir(path string, mode fs.FileMode) (made bool, _ error) {
	err := w.withPlace(guard.Write, path, func(at pathPlace) error {
		info, err := at.statPlace()
		switch {
		case err == nil && info.IsDir():
			return nil
		case err == nil:
			return &Error{Code: Exists, Path: path}
		case ignoreMissing(err) != nil:
			return err
		}
		if err = w.checkProtected(guard.Write, path, filepath.Join(at.dir.Name(), at.name)); err != nil {
			return err
		}
		made = true
		if err = at.dir.MkdirAll(at.name, mode); err != nil {
			return err
		}
		t, err := at.openTarget(path)
		if err != nil {
			return err
		}
		defer t.closeHandles()
		return t.syncDir()
	})
	return made && err == nil, err
}
