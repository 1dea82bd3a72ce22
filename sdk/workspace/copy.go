package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

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
		if real, err := resolve(from.Path); err == nil {
			from.Path = real
		}
		t, err := transfer(source, from, to, o)
		if err != nil {
			return err
		}
		if t.Replaced != nil && os.SameFile(from.Info, t.Replaced.Info) {
			return &Same{source, destination}
		}
		if err := copyable(from, w.MaxFileSize(), o.Stop); err != nil {
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
			return &NotRegular{Path: shown, Mode: mode}
		case limit > 0 && e.Info.Size() > limit:
			return &TooLarge{Path: shown, Size: e.Info.Size(), Limit: limit}
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
	if err := copyEntries(source, to, temp.name, replace, limit, stop); err != nil {
		temp.remove()
		if errors.Is(err, errForeign) {
			return w.replaceOwned(source.top(), to)
		}
		return err
	}
	if source.Info.IsDir() {
		if err := flushTree(to, temp.name); err != nil {
			temp.remove()
			return err
		}
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

func copyEntries(source *Tree, to *target, name string, replace bool, limit int64, stop stopper) error {
	modes := map[string]fs.FileMode{} // of directories; set last, since a directory may be closed to its writer
	var order []string
	err := source.Walk(func(e *Entry) error {
		if err := stop.asked(); err != nil {
			return err
		}
		at := path.Join(name, e.Name)
		switch mode := e.Info.Mode(); {
		case mode.IsDir():
			modes[at], order = mode.Perm(), append(order, at)
			return to.dir.Mkdir(at, newDir)
		case mode&fs.ModeSymlink != 0:
			link, err := e.Readlink()
			if err != nil {
				return err
			}
			return to.dir.Symlink(link, at)
		case mode.IsRegular():
			return copyFile(e, to, at, replace && e.Name == ".", limit, stop)
		default:
			return &NotRegular{Path: filepath.Join(source.Path, e.Name), Mode: mode}
		}
	})
	for i := len(order) - 1; i >= 0 && err == nil; i-- {
		err = to.dir.Chmod(order[i], modes[order[i]])
	}
	return err
}

func copyFile(e *Entry, to *target, at string, replace bool, limit int64, stop stopper) (err error) {
	in, err := e.Open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := to.dir.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL, newFile)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	var data io.Reader = in
	if limit > 0 {
		data = io.LimitReader(in, limit+1)
	}
	n, err := stop.copy(out, data)
	if err != nil {
		return err
	}
	if limit > 0 && n > limit {
		return &TooLarge{Path: e.Name, Size: n, Limit: limit}
	}
	if !replace {
		err = copyMetadata(in, e.Info, out)
	} else {
		err = takeOver(to, out)
	}
	if err != nil || e.Name != "." {
		return err // what is in a directory goes to the disk with the whole of it
	}
	return out.Sync()
}

// stopper says now and then whether to stop; nil never does.
type stopper func() error

func (s stopper) asked() error {
	if s == nil {
		return nil
	}
	return s()
}

// copy is io.Copy, between whose pieces it is asked.
func (s stopper) copy(out io.Writer, in io.Reader) (all int64, err error) {
	const piece = 64 << 20
	for {
		if err := s.asked(); err != nil {
			return all, err
		}
		n, err := io.CopyN(out, in, piece)
		all += n
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
}

// takeOver gives a copy the metadata of the file whose place it is about to take.
func takeOver(to *target, out *os.File) error {
	old, info, err := to.place().open(to.asked)
	if err != nil {
		return fmt.Errorf("keep the mode of %s: %w", to.asked, err)
	}
	defer func() { _ = old.Close() }()
	if info.Mode().Perm()&0o222 == 0 {
		return &ReadOnly{Path: to.asked}
	}
	return keepMetadata(old, info, out)
}
