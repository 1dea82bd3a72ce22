package workspace

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Copy copies a file, or a directory with everything in it. Modes and extended attributes go along, links are copied as
// links. The copy appears whole or not at all. A file that is overwritten keeps its own mode and owner.
func (w *Workspace) Copy(source, destination string, o TransferOptions) error {
	return w.use(guard.Read, source, func(at place) error {
		from, done, err := at.tree()
		if err != nil {
			return err
		}
		defer done()
		to, err := w.target(guard.Write, destination)
		if err != nil {
			return notItself(err, destination)
		}
		defer to.close()
		unlock, err := w.locks.lock([]*os.File{to.handle})
		if err != nil {
			return err
		}
		defer unlock()
		if real, err := paths.Resolve(from.Path); err == nil {
			from.Path = real
		}
		t, err := transfer(source, from, to, o)
		if err != nil {
			return err
		}
		if t.Replaced != nil && os.SameFile(from.Info, t.Replaced.Info) {
			return &Error{Code: Same, Path: source, Err: errors.New(destination)}
		}
		if err := copyable(from, w.MaxFileSize(), o.Stop); err != nil {
			return err
		}
		if err := w.checkTransfer(source, destination, t); err != nil {
			return err
		}
		if o.Last != nil {
			if err := o.Last(t); err != nil {
				return err
			}
		}
		if err := w.copyTree(from, to, t.Replaced != nil, w.MaxFileSize(), o.Stop); err != nil {
			return err
		}
		return to.sync()
	})
}

// copyable looks through a tree for what can't be copied, before anything is.
func copyable(tree *Tree, limit int64, stop stopper) error {
	return tree.Walk(func(e *Entry) error {
		if err := stop.asked(); err != nil {
			return err
		}
		shown := filepath.Join(tree.Path, filepath.FromSlash(e.Name))
		switch mode := e.Info.Mode(); {
		case mode.IsDir(), mode&fs.ModeSymlink != 0:
			return nil
		case !mode.IsRegular():
			return notRegular(shown, mode)
		case limit > 0 && e.Info.Size() > limit:
			return tooLarge(shown, e.Info.Size(), limit)
		}
		return nil
	})
}

// copyTree copies a tree beside its destination, under another name until it is whole.
func (w *Workspace) copyTree(source *Tree, to *target, replace bool, limit int64, stop stopper) error {
	temp, err := to.temporary(w)
	if err != nil {
		return err
	}
	c := copying{source, to, replace, limit, stop}
	if err := c.all(temp.name); err != nil {
		temp.remove()
		if errors.Is(err, errForeign) {
			return w.replaceOwned(source.top(), to)
		}
		return err
	}
	if err := w.checkCopy(source, to, temp.name); err != nil {
		temp.remove()
		return err
	}
	put := func() error {
		made := *to
		made.name = temp.name
		return renameAt(&made, to, replace && !source.Info.IsDir())
	}
	if replace && source.Info.IsDir() {
		err = w.aside(to, put)
	} else {
		err = put()
	}
	if err != nil {
		temp.remove()
		return err
	}
	temp.forget()
	return nil
}

// checkCopy checks what was copied, since the source may have changed since it was checked, and puts it onto the disk.
func (w *Workspace) checkCopy(source *Tree, to *target, temp string) error {
	copied := &Tree{Path: filepath.Join(filepath.Dir(to.path), temp), Info: source.Info}
	err := w.checkTransfer(source.Path, to.asked, &Transfer{Source: copied, Destination: to.path})
	if err != nil || !source.Info.IsDir() {
		return err
	}
	return flushTree(to, temp)
}

// copying is a tree on its way to another name beside its destination.
type copying struct {
	source  *Tree
	to      *target
	replace bool // the place of a file is taken over with what that is
	limit   int64
	stop    stopper
}

func (c *copying) all(name string) (err error) {
	if !c.source.Info.IsDir() {
		return c.entry(c.source.top(), c.to.dir, name)
	}
	b := &dirStack{} // which makes each in a directory that is open, however deep it is
	defer func() {
		for len(b.open) > 0 {
			err = errors.Join(err, b.leave())
		}
	}()
	return c.source.Walk(func(e *Entry) error {
		in, base := c.to.dir, name
		if e.Name != "." {
			var err error
			if in, base, err = b.at(e.Name); err != nil {
				return err
			}
		}
		if mode := e.Info.Mode(); mode.IsDir() {
			return errors.Join(c.stop.asked(), b.enter(e.Name, in, base, Meta{Mode: mode.Perm()}))
		}
		return c.entry(e, in, base)
	})
}

// entry copies what is no directory.
func (c *copying) entry(e *Entry, in *os.Root, base string) error {
	if err := c.stop.asked(); err != nil {
		return err
	}
	switch mode := e.Info.Mode(); {
	case mode&fs.ModeSymlink != 0:
		link, err := e.Readlink()
		if err != nil {
			return err
		}
		return in.Symlink(link, base)
	case mode.IsRegular():
		return c.file(e, in, base)
	default:
		return notRegular(filepath.Join(c.source.Path, e.Name), mode)
	}
}

func (c *copying) file(e *Entry, dir *os.Root, base string) (err error) {
	in, err := e.Open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := dir.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	n, err := c.stop.copy(out, in, c.limit)
	if err != nil {
		return err
	}
	if c.limit > 0 && n > c.limit {
		return tooLarge(e.Name, n, c.limit)
	}
	if e.Name != "." {
		return copyMetadata(in, e.Info, out) // what is in a directory goes to the disk with the whole of it
	}
	if c.replace {
		err = takeOver(c.to, out)
	} else {
		err = copyMetadata(in, e.Info, out)
	}
	if err != nil {
		return err
	}
	return out.Sync()
}

// takeOver gives a copy the metadata of the file whose place it is about to take.
func takeOver(to *target, out *os.File) error {
	old, info, err := to.place().open(to.asked)
	if err != nil {
		return fmt.Errorf("keep the mode of %s: %w", to.asked, err)
	}
	defer func() { _ = old.Close() }()
	if info.Mode().Perm()&0o222 == 0 {
		return &Error{Code: ReadOnly, Path: to.asked}
	}
	return keepMetadata(old, info, out)
}
