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
	maxLine   = 1 << 20 // longer lines are no entries
)

// readLinesBackward passes the lines of a file before an offset to each, block by block from the end, until each
// returns false. It skips text after the last line feed, which is still being written. at is the offset of the block's
// first line; a later call can continue from it.
func readLinesBackward(f io.ReaderAt, end int64, each func(at int64, lines []byte) bool) error {
	buf := make([]byte, blockSize+maxLine) // a block, followed by the line that ends in the next block
	rest, ended := 0, false
	for end > 0 {
		size := min(blockSize, end)
		end -= size
		block := buf[blockSize-size : blockSize]
		if n, err := f.ReadAt(block, end); errors.Is(err, io.EOF) {
			clear(block[n:]) // truncated meanwhile, by a writer that removed a partial line
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

func parseRecordLine(line []byte) (r Record, ok bool) {
	return r, json.Unmarshal(line, &r) == nil && !r.Time.IsZero()
}

// EndTime returns the time at which the call ended. The log is almost sorted by it: an entry comes later if its first
// write failed.
func (r Record) EndTime() time.Time {
	return r.Time.Add(time.Duration(r.Millis * float64(time.Millisecond)))
}

// findTimeOffset returns an offset after which all entries are later than a time. It uses binary search.
func findTimeOffset(f io.ReaderAt, end int64, until time.Time) (int64, error) {
	buf := make([]byte, blockSize)
	for from, to := int64(0), end; to-from > blockSize; {
		middle := from + (to-from)/2
		n, err := f.ReadAt(buf[:min(blockSize, to-middle)], middle)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		skip := bytes.IndexByte(buf[:n], '\n') + 1
		at, r, ok := parseFirstRecord(buf[skip:n])
		at += skip
		switch {
		case !ok:
			to = middle
		case r.EndTime().After(until):
			to, end = middle, middle+int64(at)
		default:
			from = middle + int64(at)
		}
	}
	return end, nil
}

// parseFirstRecord parses the first valid entry in lines, and returns its offset.
func parseFirstRecord(lines []byte) (at int, r Record, ok bool) {
	for {
		end := bytes.IndexByte(lines[at:], '\n')
		if end < 0 {
			return 0, r, false
		}
		if r, ok = parseRecordLine(lines[at : at+end]); ok {
			return at, r, true
		}
		at += end + 1
	}
}

// FollowLogTail is like [FollowLog], but begins at the first whole line within the last bytes of the current file. Its
// cost does not grow with the log.
func FollowLogTail(ctx context.Context, path string, bytes int64, each func(Record) error) error {
	r := &logReader{path: path, each: each}
	defer r.closeFiles()
	if err := r.openTail(bytes); err != nil {
		return err
	}
	return r.followFiles(ctx, func() {})
}

// openTail opens the current file at an offset before its end.
func (r *logReader) openTail(bytes int64) error {
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
	for one := make([]byte, 1); one[0] != '\n'; { // rest of a line
		if _, err := f.Read(one); err != nil {
			return nil //nolint:nilerr // no whole line yet
		}
	}
	return nil
}
