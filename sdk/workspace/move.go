package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// TransferPlan is a checked move or copy, before it is made.
type TransferPlan struct {
	Source      *FileTree
	Destination string    // absolute and resolved
	Replaced    *FileTree // existing destination; may be nil
}

// TransferOptions are the options of a move or copy.
type TransferOptions struct {
	// Overwrite replaces an existing destination; a directory is replaced as a whole.
	Overwrite bool
	// Last, if not nil, is called before any change; its error cancels the transfer.
	Last func(*TransferPlan) error
	// Stop, if not nil, is called before each file is copied, and repeatedly within large files. Its error cancels the
	// copy and removes it.
	Stop func() error
}

// MoveTree moves a file, symlink or directory. Within a file system it renames. Between file systems it deletes the
// source after a complete copy.
func (w *Workspace) MoveTree(source, destination string, o TransferOptions) error {
	from, err := w.openTargetParent(guard.Delete, source)
	if err != nil {
		return explainRootChangeError(err, source)
	}
	defer from.closeHandles()
	to, err := w.openTargetParentFollow(guard.Write, false, destination)
	if err != nil {
		return explainRootChangeError(err, destination)
	}
	defer to.closeHandles()
	unlock, err := w.locks.lockDirs([]*os.File{from.handle, to.handle})
	if err != nil {
		return err
	}
	defer unlock()
	moved, err := from.openTree()
	if err != nil {
		return err
	}
	if moved == nil {
		return &fs.PathError{Op: "open", Path: source, Err: fs.ErrNotExist}
	}
	t, err := planTransfer(source, moved, to, o)
	if err != nil {
		return err
	}
	if limit := w.MaxFileSize(); limit > 0 && t.Source.Info.Mode().IsRegular() && t.Source.Info.Size() > limit {
		return tooLargeError(source, t.Source.Info.Size(), limit)
	}
	if err := w.refuseProtectedTransfer(source, destination, t); err != nil {
		return err
	}
	if o.Last != nil {
		if err := o.Last(t); err != nil {
			return err
		}
	}
	if err := w.moveAndReplace(from, to, t, o.Stop); err != nil {
		return err
	}
	return errors.Join(to.syncTargetDir(), from.syncTargetDir())
}

// refuseProtectedTransfer refuses to replace or add protected files.
func (w *Workspace) refuseProtectedTransfer(source, destination string, t *TransferPlan) error {
	if hit, ok := w.inside.Match(t.Destination); ok && hit.ContentRule != "" && t.Source.Info.Mode().IsRegular() {
		text, err := readContentOrNil(t.Source.Path, true)
		if err != nil {
			return w.newProtectedError(source, hit)
		}
		return w.refuseProtectedContent(destination, t.Destination, text)
	}
	if err := w.refuseProtectedTree(destination, t.Source.Path, t.Destination, false); err != nil || t.Replaced == nil {
		return err
	}
	return w.refuseProtectedTree(destination, t.Destination, t.Destination, false)
}

// planTransfer compares source and destination and returns the plan, or an error if they conflict.
func planTransfer(asked string, source *FileTree, to *changeTarget, o TransferOptions) (*TransferPlan, error) {
	if isDirOnlyPath(to.written) && !source.Info.IsDir() {
		return nil, &Error{Code: DirectoryName, Path: to.written}
	}
	replaced, err := to.openTree()
	if err != nil {
		return nil, err
	}
	switch {
	case paths.Within(source.Path, to.path) || paths.Within(to.path, source.Path):
		return nil, &Error{Code: Same, Path: asked, Err: errors.New(to.written)}
	case replaced != nil && !o.Overwrite:
		return nil, &Error{Code: Exists, Path: to.written}
	case replaced != nil && replaced.Info.IsDir() && !source.Info.IsDir():
		return nil, &Error{Code: IsDirectory, Path: to.written}
	}
	return &TransferPlan{Source: source, Destination: to.path, Replaced: replaced}, nil
}

func (w *Workspace) moveAndReplace(from, to *changeTarget, t *TransferPlan, stop copyStopCheck) error {
	if t.Replaced == nil {
		return w.renameOrCopy(from, to, false, stop)
	}
	if os.SameFile(t.Source.Info, t.Replaced.Info) {
		return from.dir.Remove(from.name) // hard links to one file: rename would do nothing
	}
	if !t.Replaced.Info.IsDir() && !t.Source.Info.IsDir() {
		return w.renameOrCopy(from, to, true, stop)
	}
	return w.withTargetMovedAside(to, func() error { return w.renameOrCopy(from, to, false, stop) })
}

// withTargetMovedAside renames the file at a target while do runs. Afterwards it deletes that file, or restores it if
// do failed.
func (w *Workspace) withTargetMovedAside(to *changeTarget, do func() error) error {
	temp, err := to.reserveTempName(w)
	if err != nil {
		return err
	}
	if err := to.dir.Rename(to.name, temp.name); err != nil {
		temp.freeTempRecord()
		return err
	}
	if err := do(); err != nil {
		if back := to.dir.Rename(temp.name, to.name); back != nil {
			return errors.Join(err, fmt.Errorf("%s is now called %s: %w", to.written, temp.name, back))
		}
		temp.freeTempRecord()
		return err
	}
	temp.removeTempFile()
	return nil
}

// renameOrCopy renames a tree. Between file systems it copies the tree and deletes the source.
func (w *Workspace) renameOrCopy(from, to *changeTarget, replace bool, stop copyStopCheck) error {
	err := renameAt(from, to, replace)
	if !errors.Is(err, errOtherFileSystem) {
		return err
	}
	source, err := from.openTree()
	if err != nil {
		return err
	}
	if source == nil {
		return &fs.PathError{Op: "open", Path: from.written, Err: fs.ErrNotExist}
	}
	if err := w.copyToTemp(source, to, replace, 0, stop); err != nil {
		return err
	}
	if err := from.dir.RemoveAll(from.name); err != nil {
		return &Error{Code: Halfway, Path: to.written, Err: err}
	}
	return nil
}

// errOtherFileSystem is the error of a rename between file systems.
var errOtherFileSystem = errors.New("the destination is on another file system")
