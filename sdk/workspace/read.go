package workspace

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/picoclaw/picoclaw/sdk/guard"
)

// NotRegular is the error for something that is not a regular file where one is needed.
type NotRegular struct {
	Path string
	Mode fs.FileMode
}

func (e *NotRegular) Error() string {
	return fmt.Sprintf("%s is %s, not a regular file", e.Path, kind(e.Mode))
}

// TooLarge is the error for a file over the policy's limit.
type TooLarge struct {
	Path        string
	Size, Limit int64 // bytes
}

func (e *TooLarge) Error() string {
	return fmt.Sprintf("%s is %d bytes long; at most %d are allowed", e.Path, e.Size, e.Limit)
}

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

// readAll reads an open file from its beginning, up to the policy's limit.
func (w *Workspace) readAll(f io.Reader, info fs.FileInfo, path string) ([]byte, error) {
	limit := w.MaxFileSize()
	if limit > 0 && info.Size() > limit {
		return nil, &TooLarge{Path: path, Size: info.Size(), Limit: limit}
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
		return nil, &TooLarge{Path: path, Size: int64(len(data)), Limit: limit}
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
		return nil, nil, &NotRegular{Path: path, Mode: before.Mode()}
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
		err = &NotRegular{Path: path, Mode: after.Mode()}
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

func kind(m fs.FileMode) string {
	switch {
	case m.IsDir():
		return "a directory"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	}
	return "a special file"
}
