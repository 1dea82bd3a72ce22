package workspace

import (
	"errors"
	"os"
	"runtime"
)

// flushDir has the names in a directory on disk. On Windows it does nothing: that flushes no directory that is open for
// reading, and its file systems keep a journal of names.
func flushDir(dir *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return dir.Sync()
}

// flushTree has everything in a directory on the disk: all of its file system at once where the kernel does that, since
// to wait for the disk once for each of many files takes minutes.
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

// Flush has what is on the file system of a directory on the disk, where the kernel does that for all at once.
func Flush(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	_, err = flushAll(d)
	return errors.Join(err, d.Close())
}
