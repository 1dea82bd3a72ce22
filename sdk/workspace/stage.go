package workspace

import (
	"errors"
	"io/fs"
	"os"
)

// stageAll writes all new contents to disk while last runs.
func (tx *transaction) stageAll(last func([]PlannedChange) error) error {
	wait := func() error { return nil }
	if last != nil {
		wait = runConcurrently(func() error { return last(tx.listChanged()) })
	}
	err := tx.stageTemps()
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
			return withFile(f.written, err)
		}
	}
	return nil
}

// stageTemps stages all files that can have a temporary file.
func (tx *transaction) stageTemps() error {
	for _, f := range tx.files {
		if f.inPlace != nil {
			continue
		}
		if err := f.stageFile(tx.w); err != nil {
			return withFile(f.written, err)
		}
	}
	return nil
}

// runConcurrently runs f in a goroutine and returns a function that waits for it and rethrows its panic.
func runConcurrently(f func() error) (wait func() error) {
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
		return errors.New("the change was given up on") // f called runtime.Goexit
	}
}

// stageFile writes the new contents with all metadata to a temporary file and syncs it. If that is impossible, or can't
// keep the owner, the file will be changed in place.
func (f *fileChange) stageFile(w *Workspace) error {
	var err error
	if f.temp, err = f.newTemp(w); err != nil {
		return err
	}
	mode := fs.FileMode(newFileMode)
	if wanted := f.edits[0].Mode; wanted != 0 && !f.old.Exists() {
		mode = wanted
	}
	file, err := f.dir.OpenFile(f.temp.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|nonblockFlag, mode)
	if f.exact && f.old.Exists() && isReadOnlyDir(err) {
		t, inPlaceErr := w.openInPlace(f.written)
		if inPlaceErr != nil {
			return err
		}
		f.temp.freeRecord()
		f.temp, f.inPlace = nil, t.inPlace
		return nil
	}
	if err != nil {
		return err
	}
	err = writeContents(file, f)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, errForeign) {
		f.temp.removeTemp()
		f.temp = nil
		if f.inPlace, err = f.openForeign(w, f.old.Info); err != nil {
			return &Error{Code: Foreign, Path: f.written, Err: err}
		}
	}
	return err
}

func writeContents(file *os.File, f *fileChange) error {
	if _, err := file.Write(f.data); err != nil {
		return err
	}
	if f.old.Exists() {
		if err := keepMetadata(f.old.file, f.old.Info, file); err != nil {
			return err
		}
	}
	if meta := f.edits[0].Meta; meta != nil {
		if err := meta.ApplyTo(f.dir, f.temp.name); err != nil {
			return err
		}
	}
	return file.Sync()
}

// stageInPlace prepares a write in place. It reads the old contents now, for a rollback.
func (f *fileChange) stageInPlace(w *Workspace) error {
	if _, err := f.old.Bytes(); err != nil {
		return err
	}
	return f.inPlace.stageIntent(w, f.path, f.data)
}
