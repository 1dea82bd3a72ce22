package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// stageNewContents writes all new contents to temporary files, and runs last meanwhile.
func (tx *changeTransaction) stageNewContents(last func([]PlannedChange) error) error {
	wait := func() error { return nil }
	if last != nil {
		wait = startConcurrently(func() error { return last(tx.listPlannedChanges()) })
	}
	err := tx.stageTempFiles()
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
		if err := f.prepareInPlaceWrite(tx.w); err != nil {
			return withFailedFile(f.written, err)
		}
	}
	return nil
}

// stageTempFiles writes the temporary file of each change that is not in place.
func (tx *changeTransaction) stageTempFiles() error {
	for _, f := range tx.files {
		if f.inPlace != nil {
			continue
		}
		if err := f.writeTempFile(tx.w); err != nil {
			return withFailedFile(f.written, err)
		}
	}
	return nil
}

// startConcurrently runs f in a goroutine. It returns a function that waits for f and rethrows its panic.
func startConcurrently(f func() error) (wait func() error) {
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

// writeTempFile writes new contents and metadata to a temporary file and syncs it. If no temporary file is possible, or
// it can't have the owner, the change becomes a write in place.
func (f *pendingChange) writeTempFile(w *Workspace) error {
	var err error
	if f.temp, err = f.reserveTempName(w); err != nil {
		return err
	}
	mode := fs.FileMode(newFileMode)
	if wanted := f.changes[0].Mode; wanted != 0 && !f.old.Exists() {
		mode = wanted
	}
	file, err := f.dir.OpenFile(f.temp.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|nonblockFlag, mode)
	if f.exact && f.old.Exists() && isReadOnlyDirError(err) {
		t, inPlaceErr := w.openInPlaceTarget(f.written)
		if inPlaceErr != nil {
			return err
		}
		f.temp.freeTempRecord()
		f.temp, f.inPlace = nil, t.inPlace
		return nil
	}
	if err != nil {
		return err
	}
	err = writeContentsAndMetadata(file, f)
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if errors.Is(err, errForeign) {
		f.temp.removeTempFile()
		f.temp = nil
		if f.inPlace, err = f.openForeignInPlace(w, f.old.Info); err != nil {
			return &Error{Code: Foreign, Path: f.written, Err: err}
		}
	}
	return err
}

func writeContentsAndMetadata(file *os.File, f *pendingChange) error {
	if _, err := file.Write(f.data); err != nil {
		return err
	}
	if f.old.Exists() {
		if err := preserveMetadata(f.old.file, f.old.Info, file); err != nil {
			return err
		}
	}
	if meta := f.changes[0].Meta; meta != nil {
		if err := meta.ApplyTo(f.dir, f.temp.name); err != nil {
			return err
		}
	}
	return file.Sync()
}

// prepareInPlaceWrite reads the old contents for a rollback and writes the intent file.
func (f *pendingChange) prepareInPlaceWrite(w *Workspace) error {
	if _, err := f.old.Bytes(); err != nil {
		return err
	}
	return f.inPlace.writeIntentFile(w, f.path, f.data)
}

// tempFile is a temporary file or directory named .tmp-{pid}-{timestamp}. The process renames or removes it. After a
// crash, the next process removes it.
type tempFile struct {
	dir  *os.Root
	in   string // path of the directory
	name string
	w    *Workspace
	slot int // of the pending record
}

// tempNamePattern matches the names of temporary files.
var tempNamePattern = lazyregexp.New(`^\.tmp-[0-9]+-[0-9]+$`)

// lastStamp is the last used timestamp. It makes names unique within the process.
var lastStamp atomic.Int64

func newTempName() string {
	now := time.Now().UnixNano()
	for {
		last := lastStamp.Load()
		next := max(now, last+1)
		if lastStamp.CompareAndSwap(last, next) {
			return fmt.Sprintf(".tmp-%d-%d", os.Getpid(), next)
		}
	}
}

// reserveTempName returns a temporary name next to a target and records it. It creates no file.
func (t *changeTarget) reserveTempName(w *Workspace) (*tempFile, error) {
	temp := &tempFile{dir: t.dir, in: filepath.Dir(t.path), name: newTempName(), w: w}
	var err error
	if temp.slot, err = w.pending.addRecord(filepath.Join(temp.in, temp.name)); err != nil {
		return nil, fmt.Errorf("record a temporary file: %w", err)
	}
	return temp, nil
}

// freeTempRecord frees the record of a temporary name that is no longer in use.
func (temp *tempFile) freeTempRecord() {
	if temp != nil {
		temp.w.pending.freeRecord(temp.slot)
	}
}

// removeTempFile removes a temporary file that was not renamed.
func (temp *tempFile) removeTempFile() {
	if temp == nil {
		return
	}
	if err := removeTempTree(temp.dir, temp.name); err == nil || errors.Is(err, fs.ErrNotExist) {
		temp.freeTempRecord()
	}
}
