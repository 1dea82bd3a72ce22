package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// isReadOnlyDirError reports whether an error means that a directory is read-only. Files in it may be writable.
func isReadOnlyDirError(err error) bool {
	return (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) && !errors.Is(err, Refused)
}

// openInPlaceTarget opens a whitelisted file for a write in place.
func (w *Workspace) openInPlaceTarget(path string) (*changeTarget, error) {
	if w.pending.dir == "" || w.readOnly {
		return nil, fs.ErrPermission
	}
	abs, err := w.AbsPath(path)
	if err != nil {
		return nil, err
	}
	real, err := paths.Resolve(abs)
	if err != nil {
		return nil, err
	}
	if w.findAllowedRoot(guard.Write, real) != nil || !w.isWhitelisted(guard.Write, real) {
		return nil, fs.ErrPermission
	}
	before, err := statNoSymlinks(real)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, notRegularError(path, before.Mode())
	}
	f, err := openNoSymlinks(real, os.O_RDWR|nonblockFlag)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		_ = f.Close()
		return nil, fmt.Errorf("%s was replaced while it was opened", path)
	}
	return &changeTarget{handle: f, name: filepath.Base(real), path: real, written: path, exact: true, inPlace: &inPlaceWrite{file: f}},
		nil
}

// openForeignInPlace opens another user's file for a write in place that keeps the owner. It refuses files with several
// hard links, because their other names would change too.
func (t *changeTarget) openForeignInPlace(w *Workspace, was fs.FileInfo) (*inPlaceWrite, error) {
	if w.pending.dir == "" {
		return nil, errors.New("a change in place needs a state directory")
	}
	f, err := t.dir.OpenFile(t.name, os.O_RDWR|nonblockFlag, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !os.SameFile(was, info):
		err = fmt.Errorf("%s was replaced while it was opened", t.written)
	case linkCount(info) > 1:
		err = fmt.Errorf("it has %d names (hard links)", linkCount(info))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &inPlaceWrite{file: f}, nil
}

// reopenInterruptedWrite opens the file of an interrupted write, if the policy still allows writing it.
func (w *Workspace) reopenInterruptedWrite(path string) (*inPlaceWrite, error) {
	t, err := w.openTargetParent(guard.Write, path)
	if err == nil {
		defer t.closeHandles()
	}
	if isReadOnlyDirError(err) || err == nil && t.exact {
		single, openErr := w.openInPlaceTarget(path)
		if openErr != nil {
			return nil, openErr
		}
		return single.inPlace, nil
	}
	if err != nil {
		return nil, err
	}
	info, err := t.dir.Lstat(t.name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fs.ErrNotExist // the file was replaced
	}
	return t.openForeignInPlace(w, info)
}

// overwriteForeignFile overwrites another user's file in place with the contents of a source.
func (w *Workspace) overwriteForeignFile(source *TreeEntry, to *changeTarget) error {
	file, info, err := to.toAccessTarget().openRegular(to.written)
	if err != nil {
		return err
	}
	old := &OldFile{Info: info, w: w, file: file, asked: to.written}
	defer old.closeFile()
	p, err := to.openForeignInPlace(w, info)
	if err != nil {
		return &Error{Code: Foreign, Path: to.written, Err: err}
	}
	defer func() {
		p.removeIntentFile()
		_ = p.file.Close()
	}()
	in, err := source.Open()
	if err != nil {
		return err
	}
	data, err := (&OldFile{Info: source.Info, w: w, file: in, asked: source.Name}).Bytes()
	if err = errors.Join(err, in.Close()); err != nil {
		return err
	}
	if err := p.writeIntentFile(w, to.path, data); err != nil {
		return err
	}
	return p.overwriteOrRestore(data, old)
}
