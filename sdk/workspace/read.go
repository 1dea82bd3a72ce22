package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"github.com/picoclaw/picoclaw/internal/paths"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Open opens a regular file for reading.
func (w *Workspace) Open(path string) (*os.File, error) {
	var f *os.File
	err := w.withAllowedTarget(guard.Read, path, func(at accessTarget) (err error) {
		f, _, err = at.openRegular(path)
		return err
	})
	return f, err
}

// ReadFile reads a whole regular file.
func (w *Workspace) ReadFile(path string) ([]byte, error) {
	f, err := w.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return w.readLimited(f, info, path)
}

// CheckFileSize returns an error if a size exceeds the policy's file size limit.
func (w *Workspace) CheckFileSize(path string, size int64) error {
	if limit := w.MaxFileSize(); limit > 0 && size > limit {
		return tooLargeError(path, size, limit)
	}
	return nil
}

// readLimited reads a whole open file and fails if it exceeds the policy's file size limit.
func (w *Workspace) readLimited(f io.Reader, info fs.FileInfo, path string) ([]byte, error) {
	limit := w.MaxFileSize()
	if limit > 0 && info.Size() > limit {
		return nil, tooLargeError(path, info.Size(), limit)
	}
	data := make([]byte, info.Size(), info.Size()+1)
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return data[:n], nil // the file shrank
	}
	if err != nil {
		return nil, err
	}
	// The file may have grown, or be a kernel file without size.
	rest := f
	if limit > 0 {
		rest = io.LimitReader(f, limit-int64(n)+1)
	}
	more, err := io.ReadAll(rest)
	if err != nil {
		return nil, err
	}
	data = append(data, more...)
	if limit > 0 && int64(len(data)) > limit {
		return nil, tooLargeError(path, int64(len(data)), limit)
	}
	return data, nil
}

// Stat describes the file at a path. It follows symlinks.
func (w *Workspace) Stat(path string) (fs.FileInfo, error) {
	var info fs.FileInfo
	err := w.withAllowedTarget(guard.Read, path, func(at accessTarget) (err error) {
		info, err = at.statTarget()
		return err
	})
	return info, err
}

// openRegular opens a regular file for reading. It checks the type before opening, since opening a device has side
// effects. It checks again afterwards, since the file may have been replaced. It never blocks on a FIFO.
func (at accessTarget) openRegular(path string) (f *os.File, info fs.FileInfo, err error) {
	before, err := at.statTarget()
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, notRegularError(path, before.Mode())
	}
	if at.path != "" {
		f, err = openNoSymlinks(at.path, os.O_RDONLY|nonblockFlag)
	} else {
		f, err = at.dir.OpenFile(at.name, os.O_RDONLY|nonblockFlag, 0)
	}
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	switch {
	case err != nil:
	case !after.Mode().IsRegular():
		err = notRegularError(path, after.Mode())
	case at.exact && !os.SameFile(before, after):
		err = fmt.Errorf("%s was replaced while it was opened", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, after, nil
}

// statTarget describes the file at a target. It follows symlinks unless the target is exact.
func (at accessTarget) statTarget() (fs.FileInfo, error) {
	switch {
	case at.path != "":
		return statNoSymlinks(at.path)
	case at.exact:
		return at.dir.Lstat(at.name)
	}
	return at.dir.Stat(at.name)
}

// FileStatus is the metadata of the file at a path.
type FileStatus struct {
	Path    string      // absolute and resolved
	Info    fs.FileInfo // of the file that a symlink points to
	Link    string      // target of a symlink
	Created time.Time   // zero if unknown
	Links   uint64      // number of hard links
}

// FileStatus returns the metadata of the file at a path. It follows symlinks.
func (w *Workspace) FileStatus(path string) (FileStatus, error) {
	var s FileStatus
	err := w.withAllowedTarget(guard.Read, path, func(at accessTarget) (err error) {
		s.Info, err = at.statTarget()
		if err != nil {
			return err
		}
		if at.path == "" {
			s.Link, _ = at.dir.Readlink(at.name) // an error means that it is no symlink
		}
		return nil
	})
	if err != nil {
		return FileStatus{}, err
	}
	abs, err := w.AbsPath(path)
	if err != nil {
		return FileStatus{}, err
	}
	if s.Path, err = paths.Resolve(abs); err != nil {
		return FileStatus{}, err
	}
	s.Links = linkCount(s.Info)
	s.Created = w.readCreationTime(path, s.Info)
	return s, nil
}
