package takeback

import (
	"archive/tar"
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
)

// archiveWriter writes the archive of one operation, each member at once.
type archiveWriter struct {
	file    *os.File
	buffer  *bufio.Writer
	tar     *tar.Writer
	written int64
}

// begin makes the archive of an operation that is recorded. What is said of it now is what is known of it should its
// end never be seen.
func (j *Store) begin(op *Op) (*archiveWriter, error) {
	op.start(j.newID())
	f, err := j.create(op.ID)
	if err != nil {
		return nil, err
	}
	a := &archiveWriter{file: f}
	a.buffer = bufio.NewWriterSize(a, 64<<10)
	a.tar = tar.NewWriter(a.buffer)
	return a, a.json(path.Join(op.ID, opMember), op)
}

func (a *archiveWriter) Write(p []byte) (int, error) {
	n, err := a.file.Write(p)
	a.written += int64(n)
	return n, err
}

// member writes a member, and returns where its contents begin.
func (a *archiveWriter) member(h *tar.Header, contents io.Reader) (at int64, err error) {
	if err := a.tar.WriteHeader(h); err != nil {
		return 0, err
	}
	at = a.written + int64(a.buffer.Buffered())
	if h.Typeflag == tar.TypeReg && h.Size > 0 {
		n, err := io.Copy(a.tar, io.LimitReader(contents, h.Size))
		if err == nil && n < h.Size { // it shrank meanwhile
			_, err = io.CopyN(a.tar, zeros{}, h.Size-n)
		}
		if err != nil {
			return at, err
		}
	}
	return at, errors.Join(a.tar.Flush(), a.buffer.Flush())
}

func (a *archiveWriter) json(name string, values ...any) error {
	var data []byte
	for _, v := range values {
		line, err := json.Marshal(v)
		if err != nil {
			return err
		}
		data = append(append(data, line...), '\n')
	}
	h := &tar.Header{Name: name, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(data))}
	if err := a.tar.WriteHeader(h); err != nil {
		return err
	}
	_, err := a.tar.Write(data)
	return errors.Join(err, a.tar.Flush(), a.buffer.Flush())
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// discard deletes the archive.
func (a *archiveWriter) discard() {
	_ = a.file.Close()
	_ = os.Remove(a.file.Name())
}
