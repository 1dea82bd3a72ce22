package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// Open opens a regular file for reading.
func (w *Workspace) Open(path string) (*os.File, error) {
	var f *os.File
	err := w.use(guard.Read, path, func(at place) (err error) {
		f, _, err = at.open(path)
		return err
	})
	return f, err
}

// ReadFile reads a regular file whole.
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
	return w.readAll(f, info, path)
}

// CheckSize reports what is wrong with a file of a size: that it is over the policy's limit.
func (w *Workspace) CheckSize(path string, size int64) error {
	if limit := w.MaxFileSize(); limit > 0 && size > limit {
		return tooLarge(path, size, limit)
	}
	return nil
}

// readAll reads an open file from its beginning, up to the policy's limit.
func (w *Workspace) readAll(f io.Reader, info fs.FileInfo, path string) ([]byte, error) {
	limit := w.MaxFileSize()
	if limit > 0 && info.Size() > limit {
		return nil, tooLarge(path, info.Size(), limit)
	}
	data := make([]byte, info.Size(), info.Size()+1)
	n, err := io.ReadFull(f, data)
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return data[:n], nil // it has shrunk
	}
	if err != nil {
		return nil, err
	}
	// It may have grown, or be a file of the kernel's that has no size.
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
		return nil, tooLarge(path, int64(len(data)), limit)
	}
	return data, nil
}

// Stat describes what a path leads to.
func (w *Workspace) Stat(path string) (fs.FileInfo, error) {
	var info fs.FileInfo
	err := w.use(guard.Read, path, func(at place) (err error) {
		info, err = at.stat()
		return err
	})
	return info, err
}

// open opens the regular file at a place. It looks before, because opening some devices does something, and after,
// because what it looked at may be gone; and it never waits for the other end of a FIFO.
func (at place) open(path string) (f *os.File, info fs.FileInfo, err error) {
	before, err := at.stat()
	if err != nil {
		return nil, nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, nil, notRegular(path, before.Mode())
	}
	if at.path != "" {
		f, err = openExactly(at.path, os.O_RDONLY|nonblock)
	} else {
		f, err = at.dir.OpenFile(at.name, os.O_RDONLY|nonblock, 0)
	}
	if err != nil {
		return nil, nil, err
	}
	after, err := f.Stat()
	switch {
	case err != nil:
	case !after.Mode().IsRegular():
		err = notRegular(path, after.Mode())
	case at.exact && !os.SameFile(before, after):
		err = fmt.Errorf("%s was replaced while it was opened", path)
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, after, nil
}

// stat describes what is at a place, and what a link there leads to unless the place is exact.
func (at place) stat() (fs.FileInfo, error) {
	switch {
	case at.path != "":
		return statExactly(at.path)
	case at.exact:
		return at.dir.Lstat(at.name)
	}
	return at.dir.Stat(at.name)
}
