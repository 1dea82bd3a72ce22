package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync/atomic"
	"time"
)

// temporary is a file or directory with a name of its own: .tmp-{pid}-{timestamp}. It is put in the place of another or
// removed; what a killed process leaves behind is removed by the next, which finds it in the pending records.
type temporary struct {
	dir  *os.Root
	in   string // the directory's path, for the record
	name string
	w    *Workspace
	slot int // of the pending record
}

// tempName recognises the names of temporary files.
var tempName = regexp.MustCompile(`^\.tmp-[0-9]+-[0-9]+$`)

// lastStamp makes the names of one process differ though the clock may not.
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

// temporary makes a name for something temporary beside a target, and records it.
func (t *target) temporary(w *Workspace) (*temporary, error) {
	temp := &temporary{dir: t.dir, in: filepath.Dir(t.path), name: newTempName(), w: w}
	var err error
	if temp.slot, err = w.pending.add(filepath.Join(temp.in, temp.name)); err != nil {
		return nil, fmt.Errorf("record a temporary file: %w", err)
	}
	return temp, nil
}

// forget says that there is nothing to clean up any more.
func (temp *temporary) forget() {
	if temp != nil {
		temp.w.pending.done(temp.slot)
	}
}

// remove removes what has not been put in place.
func (temp *temporary) remove() {
	if temp == nil {
		return
	}
	if err := temp.dir.RemoveAll(temp.name); err == nil || errors.Is(err, fs.ErrNotExist) {
		temp.forget()
	}
}

// stage writes the new contents beside the file, with all that the file is besides its contents, and onto the disk.
func (f *changing) stage(w *Workspace) error {
	if f.inPlace != nil {
		return f.stageInPlace(w)
	}
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
		return f.stageInPlace(w)
	}
	if err != nil {
		return err
	}
	err = fill(file, f)
	if closeErr := file.Close(); err == nil {
		err = closeErr
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
	return file.Sync()
}

// stageInPlace readies a change of a file that can't be replaced. What it was is read now if it may have to be put back.
func (f *changing) stageInPlace(w *Workspace) error {
	if _, err := f.old.Bytes(); err != nil {
		return err
	}
	return f.inPlace.stage(w, f.path, f.data)
}
