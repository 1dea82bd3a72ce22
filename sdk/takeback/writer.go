package takeback

import (
	"archive/tar"
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

const (
	opMember      = "op.json" // the first member of an operation
	droppedMember = "dropped" // the mark of one that did not take place

	usualSize = 8 << 10 // bytes: the room that most operations need, with what they keep
)

// Writer writes one operation.
type Writer struct {
	op   Op
	j    *Store
	out  spill
	tar  *tar.Writer
	left int64
}

// TooLarge is the error of an operation that has more to keep than the journal takes.
type TooLarge struct{ Limit int64 }

func (e *TooLarge) Error() string {
	return fmt.Sprintf("more than the %d bytes that the journal keeps of one operation", e.Limit)
}

// Begin begins an operation. ID and Time are filled in. End it with Commit or Abort.
func (j *Store) Begin(op Op) (*Writer, error) {
	op.start(j.newID())
	w := &Writer{op: op, j: j, left: j.MaxOperation()}
	w.out.create = func() (*os.File, error) { return j.create(op.ID) }
	w.tar = tar.NewWriter(&w.out)
	data, err := json.Marshal(op)
	if err != nil {
		return nil, err
	}
	w.out.buffer.Grow(usualSize)
	h := &tar.Header{Name: path.Join(op.ID, opMember), Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(data)),
		ModTime: op.Time}
	return w, w.member(h, bytes.NewReader(data))
}

// numbered is something whose owner is a number: nobody looks up the name.
type numbered struct{ fs.FileInfo }

// Uname is empty.
func (numbered) Uname() (string, error) { return "", nil }

// Gname is empty.
func (numbered) Gname() (string, error) { return "", nil }

// ID is the id of the operation.
func (w *Writer) ID() string { return w.op.ID }

// Keep adds something that was there before: a file, whose contents it reads, a directory, a link or a FIFO. name is
// relative to the blob, "." for the blob itself.
func (w *Writer) Keep(blob, name string, info fs.FileInfo, link string, contents io.Reader) error {
	return w.KeepWith(nil, blob, name, info, link, contents)
}

// attributePrefix is what tar programs put before the name of an extended attribute.
const attributePrefix = "SCHILY.xattr."

// KeepWith is Keep with extended attributes, by name.
func (w *Writer) KeepWith(attributes map[string]string, blob, name string, info fs.FileInfo, link string,
	contents io.Reader) error {
	h, err := tar.FileInfoHeader(numbered{info}, link)
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	h.Format = tar.FormatPAX // no other has parts of seconds
	h.AccessTime, h.ChangeTime = time.Time{}, time.Time{}
	for name, value := range attributes {
		if h.PAXRecords == nil {
			h.PAXRecords = map[string]string{}
		}
		h.PAXRecords[attributePrefix+name] = value
	}
	if h.Name = path.Join(w.op.ID, blob, name); info.IsDir() {
		h.Name += "/"
	}
	if w.left -= h.Size; w.left < 0 {
		return &TooLarge{w.j.MaxOperation()}
	}
	return w.member(h, contents)
}

// KeepName adds another name of a file that is kept under the name of first.
func (w *Writer) KeepName(blob, name, first string, info fs.FileInfo) error {
	h, err := tar.FileInfoHeader(numbered{info}, "")
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	h.Format, h.AccessTime, h.ChangeTime = tar.FormatPAX, time.Time{}, time.Time{}
	h.Typeflag, h.Size = tar.TypeLink, 0
	h.Name, h.Linkname = path.Join(w.op.ID, blob, name), path.Join(w.op.ID, blob, first)
	return w.member(h, nil)
}

func (w *Writer) member(h *tar.Header, contents io.Reader) error {
	if err := w.tar.WriteHeader(h); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	if contents == nil || h.Size == 0 {
		return nil
	}
	if all, ok := contents.(*bytes.Reader); ok { // in memory, and so as long as was said
		if _, err := all.WriteTo(w.tar); err != nil {
			return fmt.Errorf("write the journal: %w", err)
		}
		return nil
	}
	// A file that shrinks while it is copied is refused by Flush; one that grows is kept as long as it was.
	if _, err := io.Copy(w.tar, io.LimitReader(contents, h.Size)); err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	return nil
}

// Commit completes the operation.
func (w *Writer) Commit() error {
	err := w.tar.Flush() // not Close: other operations may follow
	switch {
	case err != nil:
	case w.out.file == nil:
		err = w.j.add(w.op.ID, w.out.buffer.Bytes())
	default:
		if err = w.out.finish(); err == nil {
			w.j.wrote(w.out.size)
		}
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write the journal: %w", err), w.Abort())
	}
	return nil
}

// Abort drops the operation.
func (w *Writer) Abort() error { return w.out.discard() }

// Drop says that a complete operation did not take place after all.
func (j *Store) Drop(id string) error {
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	h := &tar.Header{Name: path.Join(id, droppedMember), Typeflag: tar.TypeReg, Mode: 0o600}
	if err := errors.Join(archive.WriteHeader(h), archive.Flush()); err != nil {
		return err
	}
	return j.add(j.newID(), out.Bytes())
}

// spill is memory for what is small, and a file from where it becomes large.
type spill struct {
	create func() (*os.File, error)
	buffer bytes.Buffer
	file   *os.File
	size   int64 // of all that was written, in bytes
}

func (s *spill) Write(p []byte) (int, error) {
	s.size += int64(len(p))
	if s.file == nil && s.buffer.Len()+len(p) <= smallest {
		return s.buffer.Write(p)
	}
	if s.file == nil {
		f, err := s.create()
		if err != nil {
			return 0, err
		}
		s.file = f
	}
	if s.buffer.Len() > 0 {
		if _, err := s.file.Write(s.buffer.Bytes()); err != nil {
			return 0, err
		}
		s.buffer.Reset()
	}
	return s.file.Write(p)
}

func (s *spill) finish() error {
	if s.buffer.Len() > 0 {
		if _, err := s.file.Write(s.buffer.Bytes()); err != nil {
			return err
		}
	}
	return s.file.Close()
}

func (s *spill) discard() error {
	if s.file == nil {
		return nil
	}
	_ = s.file.Close()
	err := os.Remove(s.file.Name())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
