package workspace

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// The modes of what is made new: for the owner only.
const (
	newFile = 0o600
	newDir  = 0o700
)

// WriteFile makes data the whole contents of a file. A file that is there keeps its mode; a new one is for its owner
// only. Missing parent directories are made. When WriteFile has returned without an error the file is on disk; when
// the machine stops before, the old file is there.
func (w *Workspace) WriteFile(path string, data []byte) error {
	return w.Update(path, func([]byte, bool) ([]byte, error) { return data, nil })
}

// Update replaces the contents of a file by what change makes of them. old is nil and exists false if there is no
// file yet. An error of change leaves everything as it was. Updates of one file through one workspace take turns.
func (w *Workspace) Update(path string, change func(old []byte, exists bool) ([]byte, error)) error {
	return w.use(guard.Write, path, func(at place) error {
		defer w.locks.lock(filepath.Join(at.dir.Name(), at.name))()
		old, info, err := w.previous(at, path)
		if err != nil {
			return err
		}
		data, err := change(old, info != nil)
		if err != nil {
			return err
		}
		if limit := w.MaxFileSize(); limit > 0 && int64(len(data)) > limit {
			return &TooLarge{Path: path, Size: int64(len(data)), Limit: limit}
		}
		if info == nil {
			if err := at.makeParents(); err != nil {
				return err
			}
		}
		return replace(at.dir, at.name, data, info)
	})
}

// previous reads what is at a place now; without an error and with no info there is nothing.
func (w *Workspace) previous(at place, path string) ([]byte, fs.FileInfo, error) {
	f, err := at.open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, nil, err
	}
	data, err := w.readAll(f, path)
	return data, info, err
}

func (at place) makeParents() error {
	parent := filepath.Dir(at.name)
	if parent == "." {
		return nil
	}
	return at.dir.MkdirAll(parent, newDir)
}

// replace makes data the contents of a file, all or nothing: written beside it, synced, renamed over it, and the
// directory synced. What the file was besides its contents, described by info if it is there already, it stays.
func replace(dir *os.Root, name string, data []byte, info fs.FileInfo) (err error) {
	parent, err := dir.OpenRoot(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer func() { _ = parent.Close() }()
	temp, f, err := createTemp(parent)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			_ = parent.Remove(temp)
		}
	}()
	if _, err = f.Write(data); err != nil {
		return err
	}
	if info != nil {
		if err = keepMetadata(parent, filepath.Base(name), info, f); err != nil {
			return err
		}
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = parent.Rename(temp, filepath.Base(name)); err != nil {
		return err
	}
	return syncDir(parent)
}

// syncDir puts a directory's entries on disk.
func syncDir(dir *os.Root) error {
	d, err := dir.Open(".")
	if err != nil {
		return err
	}
	defer func() { _ = d.Close() }()
	return d.Sync()
}
