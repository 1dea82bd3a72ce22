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

// closed reports whether an error says that a directory can't be changed, while a file in it perhaps can.
func closed(err error) bool {
	return (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) && !errors.Is(err, Refused)
}

// openInPlace opens a single whitelisted file for a change in place.
func (w *Workspace) openInPlace(path string) (*target, error) {
	if w.pending.dir == "" || w.readOnly {
		return nil, fs.ErrPermission
	}
	abs, err := w.Abs(path)
	if err != nil {
		return nil, err
	}
	real, err := paths.Resolve(abs)
	if err != nil {
		return nil, err
	}
	if w.find(guard.Write, real) != nil || !w.whitelisted(guard.Write, real) {
		return nil, fs.ErrPermission
	}
	before, err := statExactly(real)
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, notRegular(path, before.Mode())
	}
	f, err := openExactly(real, os.O_RDWR|nonblock)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !os.SameFile(before, info) {
		_ = f.Close()
		return nil, fmt.Errorf("%s was replaced while it was opened", path)
	}
	return &target{handle: f, name: filepath.Base(real), path: real, asked: path, exact: true, inPlace: &inPlace{file: f}}, nil
}

// openOwned opens a file that belongs to somebody else, for a change in place that leaves it to him. Another name of
// the file, which may be anywhere, would have the new contents too: such a file is not changed.
func (t *target) openOwned(w *Workspace, was fs.FileInfo) (*inPlace, error) {
	if w.pending.dir == "" {
		return nil, errors.New("there is no state directory, which a change in place needs")
	}
	f, err := t.dir.OpenFile(t.name, os.O_RDWR|nonblock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case !os.SameFile(was, info):
		err = fmt.Errorf("%s was replaced while it was opened", t.asked)
	case links(info) > 1:
		err = fmt.Errorf("it has %d names (hard links)", links(info))
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return &inPlace{file: f}, nil
}

// reopen opens a file that a killed process was changing in place, as far as the policy still opens it for writing.
func (w *Workspace) reopen(path string) (*inPlace, error) {
	t, err := w.target(guard.Write, path)
	if err == nil {
		defer t.close()
	}
	if closed(err) || err == nil && t.exact {
		single, err := w.openInPlace(path)
		if err != nil {
			return nil, err
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
		return nil, fs.ErrNotExist // somebody has put something else there
	}
	return t.openOwned(w, info)
}

// replaceOwned makes the contents of a source those of a file that belongs to somebody else, in place.
func (w *Workspace) replaceOwned(source *Entry, to *target) error {
	file, info, err := to.place().open(to.asked)
	if err != nil {
		return err
	}
	old := &Old{Info: info, w: w, file: file, asked: to.asked}
	defer old.close()
	p, err := to.openOwned(w, info)
	if err != nil {
		return &Error{Code: Foreign, Path: to.asked, Err: err}
	}
	defer func() {
		p.done()
		_ = p.file.Close()
	}()
	in, err := source.Open()
	if err != nil {
		return err
	}
	data, err := (&Old{Info: source.Info, w: w, file: in, asked: source.Name}).Bytes()
	if err := errors.Join(err, in.Close()); err != nil {
		return err
	}
	if err := p.stage(w, to.path, data); err != nil {
		return err
	}
	return p.commit(data, old)
}
