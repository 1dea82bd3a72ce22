package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Building is a directory that is being made. Names in it are slash-separated and relative to it, and come in the
// order of a walk: a directory, then all that is in it, then what is beside it. So each is made in a directory that
// is open already, however deep it is.
type Building struct {
	limit  int64       // on each file, in bytes; 0 for none
	open   []*unfilled // the directory that is being filled comes last, each in the one before
	buffer []byte
}

// unfilled is a directory that is being filled.
type unfilled struct {
	name string // relative to the building
	in   *os.Root
	base string
	dir  *os.Root
	meta Meta
}

// Build makes a directory with everything in it. It appears under its name when all of it is on the disk, or, where
// fill fails or the process is killed, not at all. What is there already is not replaced.
func (w *Workspace) Build(path string, meta Meta, fill func(*Building) error) error {
	t, err := w.targetAs(guard.Write, false, path)
	if err != nil {
		return notItself(err, path)
	}
	defer t.close()
	unlock, err := w.locks.lock([]*os.File{t.handle})
	if err != nil {
		return err
	}
	defer unlock()
	temp, err := t.temporary(w)
	if err != nil {
		return err
	}
	if err = temp.build(t, meta, fill); err == nil {
		made := *t
		made.name = temp.name
		err = renameAt(&made, t, false)
	}
	if err != nil {
		temp.remove()
		return err
	}
	temp.forget()
	return t.sync()
}

func (temp *temporary) build(t *target, meta Meta, fill func(*Building) error) error {
	b := &Building{limit: temp.w.MaxFileSize(), buffer: make([]byte, buildBuffer)}
	err := b.enter(".", t.dir, temp.name, meta)
	if err == nil {
		err = fill(b)
	}
	for len(b.open) > 0 {
		err = errors.Join(err, b.leave())
	}
	if err != nil {
		return err
	}
	return flushTree(t, temp.name)
}

// buildBuffer is how much of a file is copied at a time, in bytes.
const buildBuffer = 64 << 10

// enter makes a directory that is filled from now on.
func (b *Building) enter(name string, in *os.Root, base string, meta Meta) error {
	if err := in.Mkdir(base, newDir); err != nil {
		return err
	}
	dir, err := in.OpenRoot(base)
	if err != nil {
		return err
	}
	b.open = append(b.open, &unfilled{name, in, base, dir, meta})
	return nil
}

// leave makes the last directory what it is to be, now that it is full: it may be closed to its writer from then on,
// and what is made in it would change its time.
func (b *Building) leave() error {
	last := b.open[len(b.open)-1]
	b.open = b.open[:len(b.open)-1]
	return errors.Join(last.meta.Give(last.in, last.base), last.dir.Close())
}

// at returns the directory that a name is in, and leaves those that are full by that.
func (b *Building) at(name string) (in *os.Root, base string, err error) {
	dir := path.Dir(name)
	for b.open[len(b.open)-1].name != dir {
		if len(b.open) == 1 {
			return nil, "", fmt.Errorf("%s is not in the directory that is being filled", name)
		}
		if err := b.leave(); err != nil {
			return nil, "", err
		}
	}
	return b.open[len(b.open)-1].dir, path.Base(name), nil
}

// Mkdir makes a directory.
func (b *Building) Mkdir(name string, meta Meta) error {
	in, base, err := b.at(name)
	if err != nil {
		return err
	}
	return b.enter(name, in, base, meta)
}

// Symlink makes a symbolic link. Where it points to is not looked at.
func (b *Building) Symlink(link, name string) error {
	in, base, err := b.at(name)
	if err != nil {
		return err
	}
	return in.Symlink(link, base)
}

// Fifo makes a FIFO.
func (b *Building) Fifo(name string, meta Meta) error {
	in, base, err := b.at(name)
	if err != nil {
		return err
	}
	dir, err := in.Open(".")
	if err != nil {
		return err
	}
	err = mkfifoAt(dir, base)
	if err := errors.Join(err, dir.Close()); err != nil {
		return err
	}
	return meta.Give(in, base)
}

// File makes a file.
func (b *Building) File(name string, meta Meta, contents io.Reader) error {
	in, base, err := b.at(name)
	if err != nil {
		return err
	}
	f, err := in.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL|nonblock, newFile)
	if err != nil {
		return err
	}
	if b.limit > 0 {
		contents = io.LimitReader(contents, b.limit+1)
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{f}, contents, b.buffer)
	if err == nil && b.limit > 0 && n > b.limit {
		err = tooLarge(name, n, b.limit)
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	return meta.Give(in, base)
}

// Link gives a file that has been made another name, or where that can't be, makes another like it.
func (b *Building) Link(made, name string, meta Meta) error {
	if _, _, err := b.at(name); err != nil {
		return err
	}
	top := b.open[0].dir
	if top.Link(made, name) == nil {
		return nil
	}
	f, err := top.OpenFile(made, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	return errors.Join(b.File(name, meta, f), f.Close())
}

// Makes reports whether something of a kind can be made again: a socket or a device can't.
func Makes(mode fs.FileMode) bool {
	return mode.IsRegular() || mode.IsDir() || mode&fs.ModeSymlink != 0 || mode&fs.ModeNamedPipe != 0 && fifos
}
