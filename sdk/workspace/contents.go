package workspace

import (
	"errors"
	"io"
	"math"
	"os"
)

// stopper says now and then whether to stop; nil never does.
type stopper func() error

func (s stopper) asked() error {
	if s == nil {
		return nil
	}
	return s()
}

// copyPiece is how much is copied between two questions whether to stop, in bytes.
const copyPiece = 64 << 20

// copy copies the contents of a file, and leaves out what is a hole in it, so that the copy takes no more room. Of a
// file that is longer than limit, if that is not 0, it copies one byte more than that.
func (s stopper) copy(out, in *os.File, limit int64) (size int64, err error) {
	most := int64(math.MaxInt64)
	if limit > 0 {
		most = limit + 1
	}
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	if !hasHoles(info) || info.Size() >= most {
		return s.pieces(out, in, most)
	}
	for at := int64(0); at < info.Size(); {
		from, to, err := nextData(in, at, info.Size())
		if err != nil {
			return at, err
		}
		if from == to {
			break // nothing but a hole is left
		}
		for _, f := range []*os.File{in, out} {
			if _, err := f.Seek(from, io.SeekStart); err != nil {
				return at, err
			}
		}
		n, err := s.pieces(out, in, to-from)
		if err != nil {
			return from + n, err
		}
		if at = from + n; at < to {
			return at, nil // it has become shorter
		}
	}
	return info.Size(), out.Truncate(info.Size())
}

// pieces copies from where both files are, at most so many bytes.
func (s stopper) pieces(out, in *os.File, most int64) (all int64, err error) {
	for all < most {
		if err := s.asked(); err != nil {
			return all, err
		}
		n, err := io.CopyN(out, in, min(copyPiece, most-all))
		all += n
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return all, err
		}
	}
	return all, nil
}
