package journal

import (
	"archive/tar"
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"
)

// opMember is the name of the archive's first member.
const opMember = "op.json"

// Writer writes one operation.
type Writer struct {
	op   Op
	j    *Journal
	file *os.File
	out  *bufio.Writer
	tar  *tar.Writer
	left int64
}

// TooLarge is the error of an operation that has more to keep than the journal takes.
type TooLarge struct{ Limit int64 }

func (e *TooLarge) Error() string {
	return fmt.Sprintf("more than the %d bytes that the journal keeps of one operation", e.Limit)
}

// Begin begins an operation. ID and Time are filled in. End it with Commit or Abort.
func (j *Journal) Begin(op Op) (*Writer, error) {
	op.Time = time.Now().UTC().Truncate(time.Millisecond)
	op.ID = j.newID(time.Now())
	// It has its name from the beginning: the change comes after it, so one that is not complete has not taken place.
	f, err := os.OpenFile(j.path(op.ID), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, fmt.Errorf("write the journal: %w", err)
	}
	out := bufio.NewWriterSize(f, 64<<10)
	w := &Writer{op: op, j: j, file: f, out: out, tar: tar.NewWriter(out), left: j.MaxOperation()}
	data, err := json.Marshal(op)
	if err == nil {
		err = w.member(&tar.Header{Name: opMember, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(data)), ModTime: op.Time}, bytes.NewReader(data))
	}
	if err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	return w, nil
}

// ID is the id of the operation.
func (w *Writer) ID() string { return w.op.ID }

// Keep adds something that was there before: a file, whose contents it reads, a directory, or a link. name is relative to
// the blob, "." for the blob itself.
func (w *Writer) Keep(blob, name string, info fs.FileInfo, link string, contents io.Reader) error {
	h, err := tar.FileInfoHeader(info, link)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	h.Name = path.Join(blob, name)
	h.Uname, h.Gname = "", ""
	if info.Mode().IsRegular() {
		if w.left -= info.Size(); w.left < 0 {
			return &TooLarge{w.j.MaxOperation()}
		}
	}
	return w.member(h, contents)
}

func (w *Writer) member(h *tar.Header, contents io.Reader) error {
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if contents == nil || h.Size == 0 {
		return nil
	}
	// A file that shrinks while it is copied is refused by Close; one that grows is kept as long as it was.
	if _, err := io.Copy(w.tar, io.LimitReader(contents, h.Size)); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// Commit completes the operation.
func (w *Writer) Commit() error {
	err := w.tar.Close()
	if err == nil {
		err = w.out.Flush()
	}
	if closeErr := w.file.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the journal: %w", err), gone(os.Remove(w.file.Name())))
	}
	w.j.wrote()
	return nil
}

// Abort drops the operation.
func (w *Writer) Abort() error {
	return errors.Join(gone(w.file.Close()), gone(os.Remove(w.file.Name())))
}

// Drop deletes a complete operation, which did not take place after all.
func (j *Journal) Drop(id string) error { return gone(os.Remove(j.path(id))) }

func gone(err error) error {
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
