package takeback

import (
	"bufio"
	"io"
	"os"
)

// readAhead is how much of an archive is read at a time, in bytes.
const readAhead = 64 << 10

// skipping reads an archive in large pieces, and skips what nobody reads: an archive of many small files has much to
// read, and one of large files much to skip.
type skipping struct {
	file   *os.File
	ahead  *bufio.Reader
	offset int64 // of what is read next
}

func newSkipping(file *os.File) *skipping {
	return &skipping{file: file, ahead: bufio.NewReaderSize(file, readAhead)}
}

func (s *skipping) Read(p []byte) (int, error) {
	n, err := s.ahead.Read(p)
	s.offset += int64(n)
	return n, err
}

// Seek goes on from where it is, which is all that is asked of it.
func (s *skipping) Seek(offset int64, whence int) (int64, error) {
	if whence != io.SeekCurrent || offset < 0 {
		return s.offset, os.ErrInvalid
	}
	if offset <= int64(s.ahead.Buffered()) {
		_, err := s.ahead.Discard(int(offset))
		s.offset += offset
		return s.offset, err
	}
	if _, err := s.file.Seek(s.offset+offset, io.SeekStart); err != nil {
		return s.offset, err
	}
	s.ahead.Reset(s.file)
	s.offset += offset
	return s.offset, nil
}
