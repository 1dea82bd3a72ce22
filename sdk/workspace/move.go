package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Transfer is a move or a copy that is about to take place.
type Transfer struct {
	Source      *Tree
	Destination string // absolute, symbolic links resolved
	Replaced    *Tree  // what is at the destination now; nil if nothing
}

// TransferOptions say how to move or copy.
type TransferOptions struct {
	// Overwrite replaces what is at the destination; a directory is replaced as a whole.
	Overwrite bool
	// Last, if not nil, is called when nothing is done yet; its error stops everything.
	Last func(*Transfer) error
	// Stop, if not nil, is called before each file that has to be copied, and now and then within a large one; its
	// error stops everything, and takes back what was copied.
	Stop func() error
}

// Move gives a file, link or directory another place. Within a file system it is a rename, at once; between two the
// copy is complete before the source is deleted.
func (w *Workspace) Move(source, destination string, o TransferOptions) error {
	from, err := w.target(guard.Delete, source)
	if err != nil {
		return notItself(err, source)
	}
	defer from.close()
	to, err := w.targetAs(guard.Write, false, destination)
	if err != nil {
		return notItself(err, destination)
	}
	defer to.close()
	unlock, err := w.locks.lock([]*os.File{from.handle, to.handle})
	if err != nil {
		return err
	}
	defer unlock()
	moved, err := from.tree()
	if err != nil {
		return err
	}
	if moved == nil {
		return &fs.PathError{Op: "open", Path: source, Err: fs.ErrNotExist}
	}
	t, err := transfer(source, moved, to, o)
	if err != nil {
		return err
	}
	if limit := w.MaxFileSize(); limit > 0 && t.Source.Info.Mode().IsRegular() && t.Source.Info.Size() > limit {
		return tooLarge(source, t.Source.Info.Size(), limit)
	}
	if err := w.checkTransfer(source, destination, t); err != nil {
		return err
	}
	if o.Last != nil {
		if err := o.Last(t); err != nil {
			return err
		}
	}
	if err := w.move(from, to, t, o.Stop); err != nil {
		return err
	}
	return errors.Join(to.sync(), from.sync())
}

// checkTransfer refuses a transfer that replaces entry points, or brings some to the destination.
func (w *Workspace) checkTransfer(source, destination string, t *Transfer) error {
	if hit, ok := w.inside.Match(t.Destination); ok && hit.Judge != "" && t.Source.Info.Mode().IsRegular() {
		text, err := content(t.Source.Path, true)
		if err != nil {
			return w.protectedError(source, hit)
		}
		return w.checkContent(destination, t.Destination, text)
	}
	if err := w.checkTree(destination, t.Source.Path, t.Destination, false); err != nil || t.Replaced == nil {
		return err
	}
	return w.checkTree(destination, t.Destination, t.Destination, false)
}

// transfer looks at both ends.
func transfer(asked string, source *Tree, to *target, o TransferOptions) (*Transfer, error) {
	if endsInSlash(to.asked) && !source.Info.IsDir() {
		return nil, &Error{Code: DirectoryName, Path: to.asked}
	}
	replaced, err := to.tree()
	if err != nil {
		return nil, err
	}
	switch {
	case paths.Within(source.Path, to.path) || paths.Within(to.path, source.Path):
		return nil, &Error{Code: Same, Path: asked, Err: errors.New(to.asked)}
	case replaced != nil && !o.Overwrite:
		return nil, &Error{Code: Exists, Path: to.asked}
	case replaced != nil && replaced.Info.IsDir() && !source.Info.IsDir():
		return nil, &Error{Code: IsDirectory, Path: to.asked}
	}
	return &Transfer{Source: source, Destination: to.path, Replaced: replaced}, nil
}

func (w *Workspace) move(from, to *target, t *Transfer, stop stopper) error {
	if t.Replaced == nil {
		return w.rename(from, to, false, stop)
	}
	if os.SameFile(t.Source.Info, t.Replaced.Info) {
		return from.dir.Remove(from.name) // two names of one file: to rename would do nothing
	}
	if !t.Replaced.Info.IsDir() && !t.Source.Info.IsDir() {
		return w.rename(from, to, true, stop)
	}
	return w.aside(to, func() error { return w.rename(from, to, false, stop) })
}

// aside does something while what is at a target has another name, and deletes it after, or puts it back.
func (w *Workspace) aside(to *target, do func() error) error {
	temp, err := to.temporary(w)
	if err != nil {
		return err
	}
	if err := to.dir.Rename(to.name, temp.name); err != nil {
		temp.forget()
		return err
	}
	if err := do(); err != nil {
		if back := to.dir.Rename(temp.name, to.name); back != nil {
			return errors.Join(err, fmt.Errorf("%s is now called %s: %w", to.asked, temp.name, back))
		}
		temp.forget()
		return err
	}
	temp.remove()
	return nil
}

// rename renames, or between file systems copies and deletes.
func (w *Workspace) rename(from, to *target, replace bool, stop stopper) error {
	err := renameAt(from, to, replace)
	if !errors.Is(err, errOtherFileSystem) {
		return err
	}
	source, err := from.tree()
	if err != nil {
		return err
	}
	if source == nil {
		return &fs.PathError{Op: "open", Path: from.asked, Err: fs.ErrNotExist}
	}
	if err := w.copyTree(source, to, replace, 0, stop); err != nil {
		return err
	}
	if err := from.dir.RemoveAll(from.name); err != nil {
		return &Error{Code: Halfway, Path: to.asked, Err: err}
	}
	return nil
}

// errOtherFileSystem is the error of a rename that would have to copy.
var errOtherFileSystem = errors.New("the destination is on another file system")
