package workspace

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// intentPrefix begins the names of files that say what is being written in place.
const intentPrefix = "intent-"

// inPlace is how a single whitelisted file is changed whose directory is closed to this process, as the kernel's wall
// leaves it: nothing can be put beside it or renamed over it. The new contents go to the state directory first, so that the
// next process can finish what a killed one has begun.
type inPlace struct {
	file   *os.File // open for reading and writing
	intent string   // the file with the new contents, in the state directory
}

// closed reports whether an error says that a directory can't be changed, while a file in it perhaps can.
func closed(err error) bool {
	var refused *Refused
	return (errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.EROFS)) && !errors.As(err, &refused)
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
	real, err := resolve(abs)
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
		return nil, &NotRegular{Path: path, Mode: before.Mode()}
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

// stage writes the new contents where the next process finds them.
func (p *inPlace) stage(w *Workspace, path string, data []byte) error {
	f, err := os.CreateTemp(w.pending.dir, intentPrefix+"*")
	if err != nil {
		return err
	}
	p.intent = f.Name()
	if err = tryLock(f); err == nil {
		_, err = f.Write(append(append([]byte(path), 0), data...))
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// commit writes the new contents over the old.
func (p *inPlace) commit(data []byte) error {
	if _, err := p.file.WriteAt(data, 0); err != nil {
		return err
	}
	return errors.Join(p.file.Truncate(int64(len(data))), p.file.Sync())
}

// opened is the file, nil if nothing is changed in place.
func (p *inPlace) opened() *os.File {
	if p == nil {
		return nil
	}
	return p.file
}

// done says that there is nothing to finish any more.
func (p *inPlace) done() {
	if p != nil && p.intent != "" {
		_ = os.Remove(p.intent)
	}
}

// finish writes what a killed process had begun to write in place. It does what it can.
func (w *Workspace) finish() {
	names, _ := filepath.Glob(filepath.Join(w.pending.dir, intentPrefix+"*"))
	for _, name := range names {
		f, err := os.Open(name)
		if err != nil {
			continue
		}
		if tryLock(f) == nil && w.finishOne(f) {
			_ = os.Remove(name)
		}
		_ = f.Close()
	}
}

// finishOne reports whether nothing is left to do. An intent that is not whole was never begun to be carried out: it is on
// the disk before the first byte of the file is changed.
func (w *Workspace) finishOne(f *os.File) bool {
	all, err := io.ReadAll(f)
	if err != nil {
		return false
	}
	path, data, ok := bytes.Cut(all, []byte{0})
	if !ok {
		return true
	}
	t, err := w.openInPlace(string(path))
	if err != nil {
		return errors.Is(err, fs.ErrNotExist)
	}
	defer t.close()
	return t.inPlace.commit(data) == nil
}
