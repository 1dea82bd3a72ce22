package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"time"
)

const (
	blockSize = 256 << 10
	maxLine   = 1 << 20 // what is longer is no record of ours
)

// backward gives the lines of a file before a place to a function, a block of them at a time and the last first, until
// it returns false. What follows the last line feed is no line: somebody is writing it. at is where the first of the
// lines begins, and where reading goes on if that is left here.
func backward(f io.ReaderAt, end int64, each func(at int64, lines []byte) bool) error {
	buf := make([]byte, blockSize+maxLine) // a block, and behind it the line that ends in the next one
	rest, ended := 0, false
	for end > 0 {
		size := min(blockSize, end)
		end -= size
		block := buf[blockSize-size : blockSize]
		if n, err := f.ReadAt(block, end); errors.Is(err, io.EOF) {
			clear(block[n:]) // it was cut meanwhile: a writer has taken back what is no line
		} else if err != nil {
			return err
		}
		lines := buf[blockSize-size : int(blockSize)+rest]
		if !ended {
			last := bytes.LastIndexByte(lines, '\n')
			if last < 0 {
				continue
			}
			lines, ended = lines[:last+1], true
		}
		at := 0
		if end > 0 {
			at = bytes.IndexByte(lines, '\n') + 1
		}
		if at < len(lines) && !each(end+int64(at), lines[at:]) {
			return nil
		}
		if rest = copy(buf[blockSize:], lines[:at]); rest == maxLine {
			buf[len(buf)-1] = '\n'
		}
	}
	return nil
}

// parse reads a line.
func parse(line []byte) (r Record, ok bool) {
	return r, json.Unmarshal(line, &r) == nil && !r.Time.IsZero()
}

// Ended is when a call was answered. Lines are in this order, nearly: a record that could not be written comes later.
func (r Record) Ended() time.Time {
	return r.Time.Add(time.Duration(r.Millis * float64(time.Millisecond)))
}

// before returns a place in a file from which on all is later than a time.
func before(f io.ReaderAt, end int64, until time.Time) (int64, error) {
	buf := make([]byte, blockSize)
	for from, to := int64(0), end; to-from > blockSize; {
		middle := from + (to-from)/2
		n, err := f.ReadAt(buf[:min(blockSize, to-middle)], middle)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		skip := bytes.IndexByte(buf[:n], '\n') + 1
		at, r, ok := firstRecord(buf[skip:n])
		at += skip
		switch {
		case !ok:
			to = middle
		case r.Ended().After(until):
			to, end = middle, middle+int64(at)
		default:
			from = middle + int64(at)
		}
	}
	return end, nil
}

// firstRecord returns the first one of lines.
func firstRecord(lines []byte) (at int, r Record, ok bool) {
	for {
		end := bytes.IndexByte(lines[at:], '\n')
		if end < 0 {
			return 0, r, false
		}
		if r, ok = parse(lines[at : at+end]); ok {
			return at, r, true
		}
		at += end + 1
	}
}

// FollowLatest is like [Follow], but begins so many bytes before the end of the current file, with the first whole line
// there: what it takes does not grow with the log.
func FollowLatest(ctx context.Context, path string, bytes int64, each func(Record) error) error {
	r := &reader{path: path, each: each}
	defer r.close()
	if err := r.openLatest(bytes); err != nil {
		return err
	}
	return r.follow(ctx)
}

// openLatest opens the current file that far before its end.
func (r *reader) openLatest(bytes int64) error {
	f, err := os.Open(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	r.files = append(r.files, f)
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	at := max(0, end-bytes)
	if _, err := f.Seek(at, io.SeekStart); err != nil || at == 0 {
		return err
	}
	for one := make([]byte, 1); one[0] != '\n'; { // a line's rest
		if _, err := f.Read(one); err != nil {
			return nil //nolint:nilerr // there is no whole line; what comes is read
		}
	}
	return nil
}
