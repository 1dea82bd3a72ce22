package workspace

import (
	"errors"
	"io"
	"math"
	"os"
)

// copyStopCheck returns an error if a copy must stop. A nil copyStopCheck never stops it.
type copyStopCheck func() error

func (s copyStopCheck) checkStop() error {
	if s == nil {
		return nil
	}
	return s()
}

// copyChunk is the number of bytes copied between two stop checks.
const copyChunk = 64 << 20

// copySparse copies a file's contents and preserves holes. It copies at most limit+1 bytes, so that the caller detects
// a file over the limit.
func (s copyStopCheck) copySparse(out, in *os.File, limit int64) (size int64, err error) {
	most := int64(math.MaxInt64)
	if limit > 0 {
		most = limit + 1
	}
	info, err := in.Stat()
	if err != nil {
		return 0, err
	}
	if !hasHoles(info) || info.Size() >= most {
		return s.copyChunks(out, in, most)
	}
	for at := int64(0); at < info.Size(); {
		from, to, err := nextDataRegion(in, at, info.Size())
		if err != nil {
			return at, err
		}
		if from == to {
			break // only a hole remains
		}
		for _, f := range []*os.File{in, out} {
			if _, err = f.Seek(from, io.SeekStart); err != nil {
				return at, err
			}
		}
		n, err := s.copyChunks(out, in, to-from)
		if err != nil {
			return from + n, err
		}
		if at = from + n; at < to {
			return at, nil // the file was truncated
		}
	}
	return info.Size(), out.Truncate(info.Size())
}

// copyChunks copies bytes from the current offsets, up to the limit most. It can stop before each chunk.
func (s copyStopCheck) copyChunks(out, in *os.File, most int64) (all int64, err error) {
	for all < most {
		if err := s.checkStop(); err != nil {
			return all, err
		}
		n, err := io.CopyN(out, in, min(copyChunk, most-all))
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
