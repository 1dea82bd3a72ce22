package workspace

import (
	"errors"
	"os"
	"runtime"
)

// syncDir syncs the entries of a directory to disk. On Windows it does nothing, because the file system journals names.
func syncDir(dir *os.File) error {
	if runtime.GOOS == "windows" {
		return nil
	}
	return dir.Sync()
}

// syncTree syncs a directory tree to disk. Where possible, one call syncs the file system, because syncing each file is
// slow.
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
