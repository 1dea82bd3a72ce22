package workspace

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Building is a directory that is being made. Names in it are slash-separated and relative to it; a directory comes before
// what is in it.
type Building struct {
	dir   *os.Root
	limit int64 // on each file, in bytes; 0 for none
	modes []builtDir
}

type builtDir struct {
	name string
	mode fs.FileMode
}

// Build makes a directory with everything in it. It appears under its name when all of it is on the disk, or, where fill
// fails or the process is killed, not at all. What is there already is not replaced.
func (w *Workspace) Build(path string, mode fs.FileMode, fill func(*Building) error) error {
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
	if err = temp.build(t, mode, fill); err == nil {
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

func (temp *temporary) build(t *target, mode fs.FileMode, fill func(*Building) error) error {
	if err := t.dir.Mkdir(temp.name, newDir); err != nil {
		return err
	}
	dir, err := t.dir.OpenRoot(temp.name)
	if err != nil {
		return err
	}
	defer func() { _ = dir.Close() }()
	b := &Building{dir: dir, limit: temp.w.MaxFileSize(), modes: []builtDir{{".", mode}}}
	if err := fill(b); err != nil {
		return err
	}
	// Last, since a directory may be closed to its writer.
	for _, d := range slices.Backward(b.modes) {
		if err := dir.Chmod(d.name, d.mode.Perm()); err != nil {
			return err
		}
	}
	return flushTree(t, temp.name)
}

// Mkdir makes a directory.
func (b *Building) Mkdir(name string, mode fs.FileMode) error {
	b.modes = append(b.modes, builtDir{name, mode})
	return b.dir.Mkdir(name, newDir)
}

// Symlink makes a symbolic link. Where it points to is not looked at.
func (b *Building) Symlink(link, name string) error { return b.dir.Symlink(link, name) }

// File makes a file.
func (b *Building) File(name string, mode fs.FileMode, contents io.Reader) error {
	f, err := b.dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL|nonblock, newFile)
	if err != nil {
		return err
	}
	if b.limit > 0 {
		contents = io.LimitReader(contents, b.limit+1)
	}
	n, err := io.Copy(f, contents)
	if err == nil && b.limit > 0 && n > b.limit {
		err = &TooLarge{Path: name, Size: n, Limit: b.limit}
	}
	if err == nil && mode.Perm() != newFile {
		err = f.Chmod(mode.Perm())
	}
	return errors.Join(err, f.Close())
}

// flushTree has everything in a directory on the disk: all of its file system at once where the kernel does that, since to
// wait for the disk once for each of many files takes minutes.
func flushTree(t *target, name string) error {
	if done, err := flushAll(t.handle); done {
		return err
	}
	tree := &target{dir: t.dir, name: name, path: name}
	all, err := tree.tree()
	if err != nil || all == nil {
		return err
	}
	return all.Walk(func(e *Entry) error {
		if !e.Info.IsDir() && !e.Info.Mode().IsRegular() {
			return nil
		}
		f, err := e.dir.OpenFile(e.base, os.O_RDONLY|nonblock, 0)
		if err != nil {
			return err
		}
		if e.Info.IsDir() {
			err = flushDir(f)
		} else {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	})
}
