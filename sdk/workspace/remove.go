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

// RemoveTree deletes a file or symlink or, with recursive, a directory tree. last receives the tree before it is
// deleted; its error cancels.
//
// A directory disappears at once, and its space is freed afterwards. If ctx ends earlier, that continues in the
// background.
func (w *Workspace) RemoveTree(ctx context.Context, path string, recursive bool, last func(*FileTree) error) error {
	t, err := w.openTargetParent(guard.Delete, path)
	if err != nil {
		return explainRootChangeError(err, path)
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
	return t.syncTargetDir()
}

// removeDir deletes a directory. It renames the directory first, so that other processes see all or nothing and the
// next process can complete the deletion.
func (w *Workspace) removeDir(ctx context.Context, t *changeTarget) error {
	temp, err := t.reserveTempName(w)
	if err != nil {
		return err
	}
	if temp.dir, err = t.dir.OpenRoot("."); err != nil { // the goroutine needs it longer
		temp.freeTempRecord()
		return err
	}
	if err = t.dir.Rename(t.name, temp.name); err != nil {
		temp.freeTempRecord()
		return errors.Join(err, temp.dir.Close())
	}
	freed := make(chan error, 1)
	go func() {
		removeErr := removeTempTree(temp.dir, temp.name)
		if removeErr == nil {
			temp.freeTempRecord()
		}
		freed <- errors.Join(removeErr, temp.dir.Close())
	}()
	unsynced := t.syncTargetDir()
	select {
	case err = <-freed:
	case <-ctx.Done():
	}
	if unsynced != nil {
		return unsynced
	}
	if err != nil {
		return &Error{Code: Leftover, Path: t.written, Err: fmt.Errorf("%s now: %w", temp.name, err)}
	}
	return nil
}

// explainRootChangeError replaces the error of moving or deleting an allowed directory itself by a refusal. It returns
// other errors unchanged.
func explainRootChangeError(err error, path string) error {
	if what, ok := errors.AsType[notRegularFileError](err); ok && fs.FileMode(what).IsDir() {
		return newRefusal(path, "workspace.root", fmt.Sprintf("access denied: %s is the workspace itself", path))
	}
	return err
}

// MakeDir creates a directory and its missing parents. It succeeds if the directory exists. made reports whether it
// created the directory.
func (w *Workspace) MakeDir(path string, mode fs.FileMode) (made bool, _ error) {
	err := w.withAllowedTarget(guard.Write, path, func(at accessTarget) error {
		info, err := at.statTarget()
		switch {
		case err == nil && info.IsDir():
			return nil
		case err == nil:
			return &Error{Code: Exists, Path: path}
		case ignoreNotExist(err) != nil:
			return err
		}
		if err = w.refuseProtectedChange(guard.Write, path, filepath.Join(at.dir.Name(), at.name)); err != nil {
			return err
		}
		made = true
		if err = at.dir.MkdirAll(at.name, mode); err != nil {
			return err
		}
		t, err := at.openTargetParent(path)
		if err != nil {
			return err
		}
		defer t.closeHandles()
		return t.syncTargetDir()
	})
	return made && err == nil, err
}

// removeTempTree removes a temporary file or tree. It makes directories accessible if necessary.
func removeTempTree(dir *os.Root, name string) error {
	err := dir.RemoveAll(name)
	if !errors.Is(err, fs.ErrPermission) || makeTreeAccessible(dir, name) != nil {
		return err
	}
	return dir.RemoveAll(name)
}

// makeTreeAccessible adds owner permissions to a directory and all directories below.
func makeTreeAccessible(dir *os.Root, name string) error {
	info, err := dir.Lstat(name)
	if err != nil || !info.IsDir() {
		return err
	}
	if err = dir.Chmod(name, newDirMode); err != nil {
		return err
	}
	sub, err := dir.OpenRoot(name)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	handle, err := sub.Open(".")
	if err != nil {
		return err
	}
	entries, err := handle.ReadDir(-1)
	if err = errors.Join(err, handle.Close()); err != nil {
		return err
	}
	for _, e := range entries {
		if e.IsDir() {
			if err := makeTreeAccessible(sub, e.Name()); err != nil {
				return err
			}
		}
	}
	return nil
}
