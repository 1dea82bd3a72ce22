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

// Remove deletes a file, a link, or with recursive a directory and everything in it. A link is deleted itself. last is
// called with what is about to be deleted; its error stops it.
//
// A directory is gone at once, and then its space is freed. Where ctx ends before, it is gone all the same, and
// freeing goes on.
func (w *Workspace) Remove(ctx context.Context, path string, recursive bool, last func(*Tree) error) error {
	t, err := w.target(guard.Delete, path)
	if err != nil {
		return notItself(err, path)
	}
	defer t.close()
	unlock, err := w.locks.lock([]*os.File{t.handle})
	if err != nil {
		return err
	}
	defer unlock()
	doomed, err := t.tree()
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
	return t.sync()
}

// removeDir deletes a directory. It gets another name first: others see all of it or nothing, and the next process
// goes on where a killed one has stopped.
func (w *Workspace) removeDir(ctx context.Context, t *target) error {
	temp, err := t.temporary(w)
	if err != nil {
		return err
	}
	if temp.dir, err = t.dir.OpenRoot("."); err != nil { // it may be needed for longer
		temp.forget()
		return err
	}
	if err := t.dir.Rename(t.name, temp.name); err != nil {
		temp.forget()
		return errors.Join(err, temp.dir.Close())
	}
	freed := make(chan error, 1)
	go func() {
		err := removeAll(temp.dir, temp.name)
		if err == nil {
			temp.forget()
		}
		freed <- errors.Join(err, temp.dir.Close())
	}()
	if err := t.sync(); err != nil {
		return err
	}
	select {
	case err = <-freed:
	case <-ctx.Done():
	}
	if err != nil {
		return &Error{Code: Leftover, Path: t.asked, Err: fmt.Errorf("%s now: %w", temp.name, err)}
	}
	return nil
}

// notItself says what is wrong with moving or deleting an allowed directory itself.
func notItself(err error, path string) error {
	var what kind
	if errors.As(err, &what) && fs.FileMode(what).IsDir() {
		return refused(path, "workspace.root", fmt.Sprintf("access denied: %s is the workspace itself", path))
	}
	return err
}

// Mkdir makes a directory and those above it that are missing. That there is one already is no error; made reports
// whether it is new.
func (w *Workspace) Mkdir(path string, mode fs.FileMode) (made bool, err error) {
	err = w.use(guard.Write, path, func(at place) error {
		info, err := at.stat()
		switch {
		case err == nil && info.IsDir():
			return nil
		case err == nil:
			return &Error{Code: Exists, Path: path}
		case gone(err) != nil:
			return err
		}
		if err := w.held(guard.Write, path, filepath.Join(at.dir.Name(), at.name)); err != nil {
			return err
		}
		made = true
		if err := at.dir.MkdirAll(at.name, mode); err != nil {
			return err
		}
		t, err := at.target(path)
		if err != nil {
			return err
		}
		defer t.close()
		return t.sync()
	})
	return made && err == nil, err
}
