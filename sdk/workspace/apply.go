package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Apply makes all the changes or none. Each file is old or new at any instant, never partial, also when the process is
// killed; a process that is killed between two files has changed the first. Changes that take part in one directory
// take turns, also with other processes. Several edits of one file are made in their order.
//
// last, if not nil, is called when all changes are made up, none is in place yet and nobody else can change these
// files; its error stops everything. It is called from another goroutine, since the new contents are on their way to
// the disk meanwhile.
func (w *Workspace) Apply(last func([]Changed) error, edits ...Edit) (err error) {
	tx := transaction{w: w}
	defer func() { tx.end(!Untouched(err)) }()
	if err := tx.prepare(edits); err != nil {
		return err
	}
	if err := tx.stage(last); err != nil {
		return err
	}
	return tx.commit()
}

// Try makes the changes up as Apply does, gives them to show, and makes none of them.
func (w *Workspace) Try(show func([]Changed) error, edits ...Edit) error {
	tx := transaction{w: w, dry: true}
	defer tx.end(false)
	if err := tx.prepare(edits); err != nil {
		return err
	}
	return show(tx.changed())
}

// transaction is one Apply.
type transaction struct {
	w      *Workspace
	dry    bool // nothing is made, directories neither
	files  []*changing
	made   []madeDir
	unlock func()
}

// prepare locks where the edits take place and makes up what is to be.
func (tx *transaction) prepare(edits []Edit) error {
	for _, e := range edits {
		if err := tx.add(e); err != nil {
			return of(e.Path, err)
		}
	}
	if err := tx.lock(); err != nil {
		return err
	}
	return tx.compute()
}

// changing is one file of a transaction.
type changing struct {
	*target
	edits  []Edit
	old    Old
	data   []byte
	temp   *temporary // the new contents, until they are in place
	backup *temporary // another name of the old file, while other files are still to be changed
	done   bool
}

// add opens where an edit takes place.
func (tx *transaction) add(e Edit) error {
	if endsInSlash(e.Path) {
		return &Error{Code: DirectoryName, Path: e.Path}
	}
	t, err := tx.w.target(guard.Write, e.Path)
	var none *missing
	if errors.As(err, &none) && e.Parents {
		// Directories are made only for a change that can be made.
		if _, err := e.Change(&Old{Path: none.at.full(), asked: e.Path}); err != nil {
			return err
		}
		if tx.dry {
			t, err = &target{path: none.at.full(), asked: e.Path}, nil
		} else if t, err = tx.makeParents(none.at, e.Path); err != nil {
			return err
		}
	}
	if none == nil && e.Parents && errors.Is(err, fs.ErrNotExist) {
		t, err = tx.exactParents(e, err)
	}
	if closed(err) {
		t, err = tx.w.openInPlace(e.Path)
	}
	if err != nil {
		return err
	}
	for _, f := range tx.files {
		if f.is(t) {
			t.close()
			f.edits = append(f.edits, e)
			return nil
		}
	}
	tx.files = append(tx.files, &changing{target: t, edits: []Edit{e}})
	return nil
}

func (tx *transaction) lock() error {
	dirs := make([]*os.File, 0, len(tx.files))
	for _, f := range tx.files {
		if f.handle != nil {
			dirs = append(dirs, f.handle)
		}
	}
	unlock, err := tx.w.locks.lock(dirs)
	tx.unlock = unlock
	return err
}

// compute reads what is there and asks for what is to be.
func (tx *transaction) compute() error {
	for _, f := range tx.files {
		if err := f.compute(tx.w); err != nil {
			return of(f.asked, err)
		}
	}
	return nil
}

func (f *changing) compute(w *Workspace) (err error) {
	f.old = Old{Path: f.path, w: w, asked: f.asked}
	f.old.file, f.old.Info, err = f.open()
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case f.old.Info.Mode().Perm()&0o222 == 0:
		return &Error{Code: ReadOnly, Path: f.asked}
	}
	current := f.old
	for _, e := range f.edits {
		if f.data, err = e.Change(&current); err != nil {
			return err
		}
		if limit := w.MaxFileSize(); limit > 0 && int64(len(f.data)) > limit {
			return tooLarge(f.asked, int64(len(f.data)), limit)
		}
		if !f.old.read && current.read {
			f.old.data, f.old.read = current.data, true
		}
		current.data, current.read = f.data, true
	}
	return w.checkContent(f.asked, f.path, f.data)
}

func (tx *transaction) changed() []Changed {
	all := make([]Changed, len(tx.files))
	for i, f := range tx.files {
		all[i] = Changed{Old: &f.old, Data: f.data}
		for _, d := range tx.made {
			if dir := filepath.Join(d.root.Name(), d.name); paths.Within(dir, f.path) {
				all[i].Dirs = append(all[i].Dirs, dir)
			}
		}
	}
	return all
}

// open opens the file as it is before the change.
func (f *changing) open() (*os.File, fs.FileInfo, error) {
	switch {
	case f.inPlace != nil:
		info, err := f.inPlace.file.Stat()
		return f.inPlace.file, info, err
	case f.handle == nil:
		return nil, nil, fs.ErrNotExist
	}
	return f.place().open(f.asked)
}

// commit puts the staged contents in place. If one can't be, those before it are put back.
func (tx *transaction) commit() error {
	for i, f := range tx.files {
		if err := f.commit(len(tx.files) > 1); err != nil {
			err = of(f.asked, err)
			for _, before := range slices.Backward(tx.files[:i]) {
				if back := before.rollBack(); back != nil {
					err = &Error{Code: Halfway, Path: before.asked, Err: errors.Join(err, back)}
				}
			}
			return err
		}
	}
	var err error
	for _, f := range tx.files {
		err = errors.Join(err, f.sync())
	}
	return err
}

func (f *changing) commit(keep bool) error {
	if f.inPlace != nil {
		return f.inPlace.commit(f.data, &f.old)
	}
	if keep && f.old.Exists() {
		// Another name keeps the old file for as long as the change may have to be taken back.
		backup, err := f.temporary(f.temp.w)
		if err != nil {
			return err
		}
		if err := f.dir.Link(f.name, backup.name); err != nil {
			backup.forget()
			return fmt.Errorf("keep the old %s until all is done: %w", f.asked, err)
		}
		f.backup = backup
	}
	f.old.close() // while it is open, its blocks could be freed only later, and that would be one more change for the disk
	staged := *f.target
	staged.name = f.temp.name
	if err := renameAt(&staged, f.target, true); err != nil {
		return err
	}
	f.temp.forget()
	f.temp, f.done = nil, true
	return nil
}

func (f *changing) rollBack() error {
	if f.inPlace != nil {
		old, err := f.old.Bytes()
		return errors.Join(err, f.inPlace.overwrite(old))
	}
	if f.backup == nil {
		return f.dir.Remove(f.name)
	}
	err := f.dir.Rename(f.backup.name, f.name)
	if err == nil {
		f.backup.forget()
		f.backup = nil
	}
	return err
}

// end cleans up, whatever has happened.
func (tx *transaction) end(ok bool) {
	for _, f := range tx.files {
		for _, file := range []*os.File{f.old.file, f.inPlace.opened()} {
			if file != nil && file != f.handle {
				_ = file.Close()
			}
		}
		f.inPlace.done()
		f.temp.remove()
		f.backup.remove()
	}
	if tx.unlock != nil {
		tx.unlock()
	}
	for _, f := range tx.files {
		f.close()
	}
	if !ok {
		for _, d := range slices.Backward(tx.made) {
			d.remove()
		}
	}
	for _, d := range tx.made {
		if d.own {
			_ = d.root.Close()
		}
	}
}
