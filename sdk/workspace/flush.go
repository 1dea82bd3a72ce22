package workspace

import (
	"errors"
	"os"
	"runtime"
)

// syncDir syncs a directory's entries to disk. On Windows it does nothing: file systems journal names.
func syncDir(dir *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return dir.Sync()
}

// syncTree syncs a directory tree to disk, with one call for the file system where possible, since syncing each file
// takes long.
func syncTree(t *changeTarget, name string) error {
	if done, err := syncFileSystem(t.handle); done {
		return err
	}
	tree := &changeTarget{dir: t.dir, name: name, path: name}
	all, err := tree.openTree()
	if err != nil || all == nil {
		return err
	}
	return all.WalkTree(func(e *TreeEntry) error {
		if !e.Info.IsDir() && !e.Info.Mode().IsRegular() {
			return nil
		}
		f, err := e.dir.OpenFile(e.base, os.O_RDONLY|nonblockFlag, 0)
		if err != nil {
			return err
		}
		if e.Info.IsDir() {
			err = syncDir(f)
		} else {
			err = f.Sync()
		}
		return errors.Join(err, f.Close())
	})
}

// SyncFileSystem syncs the file system of a directory, where the kernel supports that.
func SyncFileSystem(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	_, err = syncFileSystem(d)
	return errors.Join(err, d.Close())
}
