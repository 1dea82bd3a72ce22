package workspace

import (
	"errors"
	"io/fs"
	"os"
)

// stage has all new contents on the disk, and last do what it has to meanwhile: neither needs the other.
func (tx *transaction) stage(last func([]Changed) error) error {
	wait := func() error { return nil }
	if last != nil {
		wait = beside(func() error { return last(tx.changed()) })
	}
	err := tx.stageBeside()
	if lastErr := wait(); lastErr != nil {
		return lastErr
	}
	if err != nil {
		return err
	}
	for _, f := range tx.files {
		if f.inPlace == nil {
			continue
		}
		if err := f.stageInPlace(tx.w); err != nil {
			return of(f.asked, err)
		}
	}
	return nil
}

// stageBeside stages all the files that something can be put beside.
func (tx *transaction) stageBeside() error {
	for _, f := range tx.files {
		if f.inPlace != nil {
			continue
		}
		if err := f.stage(tx.w); err != nil {
			return of(f.asked, err)
		}
	}
	return nil
}

// beside runs f in another goroutine and returns the function that waits for it. A panic of f is the waiter's.
func beside(f func() error) (wait func() error) {
	done := make(chan error, 1)
	var panicked any
	go func() {
		defer close(done)
		defer func() {
			if v := recover(); v != nil {
				panicked = v
			}
		}()
		done <- f()
	}()
	return func() error {
		err, ok := <-done
		switch {
		case ok:
			return err
		case panicked != nil:
			panic(panicked)
		}
		return errors.New("the change was given up on") // f has ended its goroutine
	}
}

// stage writes the new contents beside the file, with all that the file is besides its contents, and onto the disk.
// Where nothing can be put beside it, or what is put there can't be its owner's, it will be changed in place.
func (f *changing) stage(w *Workspace) error {
	var err error
	if f.temp, err = f.temporary(w); err != nil {
		return err
	}
	mode := fs.FileMode(newFile)
	if wanted := f.edits[0].Mode; wanted != 0 && !f.old.Exists() {
		mode = wanted
	}
	file, err := f.dir.OpenFile(f.temp.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|nonblock, mode)
	if f.exact && f.old.Exists() && closed(err) {
		t, inPlaceErr := w.openInPlace(f.asked)
		if inPlaceErr != nil {
			return err
		}
		f.temp.forget()
		f.temp, f.inPlace = nil, t.inPlace
		return nil
	}
	if err != nil {
		return err
	}
	err = fill(file, f)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, errForeign) {
		f.temp.remove()
		f.temp = nil
		if f.inPlace, err = f.openOwned(w, f.old.Info); err != nil {
			return &Error{Code: Foreign, Path: f.asked, Err: err}
		}
	}
	return err
}

func fill(file *os.File, f *changing) error {
	if _, err := file.Write(f.data); err != nil {
		return err
	}
	if f.old.Exists() {
		if err := keepMetadata(f.old.file, f.old.Info, file); err != nil {
			return err
		}
	}
	if meta := f.edits[0].Meta; meta != nil {
		if err := meta.Give(f.dir, f.temp.name); err != nil {
			return err
		}
	}
	return file.Sync()
}

// stageInPlace readies a change of a file that can't be replaced. What it was is read now if it may have to be put
// back.
func (f *changing) stageInPlace(w *Workspace) error {
	if _, err := f.old.Bytes(); err != nil {
		return err
	}
	return f.inPlace.stage(w, f.path, f.data)
}
