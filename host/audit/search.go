package audit

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// There is no index beside the log, which would have to be kept in step by each of its writers. The end of a file is
// read backward, a time is found in it by halving, and a line that a filter can't want is told by its bytes. What is
// rare may take several pages, none of which takes long: each says how far it came.

const (
	maxSearched = 64 << 20 // how much is looked through for one page, in bytes
	maxParsed   = 5_000    // and how many lines are read as records
)

// longestCall is how long after a time calls that arrived before it are looked for. Lines are in the order of their
// ends.
const longestCall = time.Hour

// Query is a search: which records are wanted, how many of them, and from where on.
type Query struct {
	Filter
	Limit int    // at least 1
	After string // [Page.Next] of the page before; empty for the latest records
}

// Page is what a search has found, the latest call first.
type Page struct {
	Records []Record
	Next    string    // where to go on; empty where there is nothing more
	Reached time.Time // how far back it has searched; zero where it has not begun
	Broken  int       // lines that it found to be no records
}

// ErrGone is the error of what is not in a log, or not any more.
var ErrGone = errors.New("it was never there, or its file is gone: audit.max_files says how many are kept")

// Search returns the latest records of the log at a path that are wanted. It reads a bounded part of the log: behind a
// page with a Next there may be more, also if it has few records or none.
func Search(path string, q Query) (*Page, error) {
	r := &reader{path: path}
	defer r.close()
	if err := r.openFiles(nil); err != nil {
		return nil, err
	}
	from, err := parseLocation(q.After)
	if err != nil {
		return nil, err
	}
	s := &search{Query: q, sieve: q.sieve()}
	reached := q.After == ""
	for i, f := range slices.Backward(r.files) {
		info, err := f.Stat()
		if err != nil {
			return nil, fmt.Errorf("search the audit log: %w", err)
		}
		s.at = location{file: fileName(f), at: info.Size()}
		s.oldest = i == 0
		if reached && !endsLine(f, s.at.at) {
			s.page.Broken++
		}
		switch {
		case s.at.file == "" || !reached && s.at.file != from.file:
			continue
		case !reached && from.at > s.at.at:
			return nil, fmt.Errorf("the audit log does not have what came before: %w", ErrGone)
		case !reached:
			s.at.at, reached = from.at, true
		}
		if more, err := s.file(f, r.files[i+1:]); err != nil {
			return nil, fmt.Errorf("search the audit log: %w", err)
		} else if !more {
			break
		}
	}
	if !reached {
		return nil, fmt.Errorf("the audit log does not have what came before: %w", ErrGone)
	}
	return &s.page, nil
}

// endsLine reports whether a file of this size ends with a line's end, or is empty.
func endsLine(f io.ReaderAt, size int64) bool {
	last := []byte{'\n'}
	_, _ = f.ReadAt(last, max(size-1, 0))
	return last[0] == '\n' || size == 0
}

// Find returns the record of the call that a session has made at a time.
func Find(path, session string, at time.Time) (Record, error) {
	q := Query{Filter: Filter{Session: session, Since: at, Until: at.Add(1)}, Limit: 1}
	for {
		page, err := Search(path, q)
		switch {
		case err != nil:
			return Record{}, err
		case len(page.Records) > 0:
			return page.Records[0], nil
		case page.Next == "":
			return Record{}, fmt.Errorf("the audit log has no such call: %w", ErrGone)
		}
		q.After = page.Next
	}
}

// search goes back through a log.
type search struct {
	Query
	sieve   sieve
	current *os.File   // the file at hand
	later   []*os.File // those after it
	oldest  bool       // the file at hand has none before it
	at      location   // where it is
	page    Page

	searched, parsed int
	starts           []int // of a block's lines that may be wanted
}

// file searches a file up to the place at hand. more is false when the page is complete.
func (s *search) file(f *os.File, later []*os.File) (more bool, err error) {
	s.current, s.later = f, later
	end := s.at.at
	if !s.Until.IsZero() {
		if end, err = before(f, end, s.Until.Add(longestCall)); err != nil {
			return false, err
		}
	}
	more = true
	err = backward(f, end, func(at int64, lines []byte) bool {
		more = s.block(at, lines)
		return more
	})
	return more, err
}

// block searches lines, which begin at a place in the file.
func (s *search) block(begin int64, lines []byte) (more bool) {
	if s.sieve.passes(lines) {
		s.starts = s.starts[:0]
		for at := s.sieve.first(lines); at < len(lines); at += s.sieve.first(lines[at:]) {
			s.starts = append(s.starts, at)
			at += bytes.IndexByte(lines[at:], '\n') + 1
		}
		for _, at := range slices.Backward(s.starts) {
			line := lines[at : at+bytes.IndexByte(lines[at:], '\n')]
			s.at.at = begin + int64(at)
			if s.sieve.passes(line) && !s.line(line) {
				return false
			}
		}
	}
	s.at.at = begin
	s.searched += len(lines)
	if _, first, ok := firstRecord(lines); ok {
		s.page.Reached = first.Ended()
	}
	if !s.Since.IsZero() && s.page.Reached.Before(s.Since.Add(-longestCall)) {
		return false
	}
	return s.searched < maxSearched || s.leave()
}

// line reads the line at hand.
func (s *search) line(line []byte) (more bool) {
	r, ok := parse(line)
	switch {
	case ok:
		s.page.Reached = r.Ended()
		if s.Matches(r) && !(r.IsOpen() && s.hasEnd(r.Call, s.at.at)) {
			s.page.Records = append(s.page.Records, r)
		}
	case len(bytes.TrimSpace(line)) > 0:
		s.page.Broken++
	}
	s.parsed++
	return len(s.page.Records) < s.Limit && s.parsed < maxParsed || s.leave()
}

// leave ends the page here.
func (s *search) leave() (more bool) {
	if s.at.at > 0 || !s.oldest {
		s.page.Next = s.at.String()
	}
	return false
}

// location is a place in a log: where a line begins.
type location struct {
	file string // as fileName has it
	at   int64
}

func (l location) String() string { return l.file + "-" + strconv.FormatInt(l.at, 10) }

const fileNameLength = 16

// parseLocation reads a place. No text is the zero one.
func parseLocation(text string) (l location, err error) {
	if text == "" {
		return l, nil
	}
	file, at, _ := strings.Cut(text, "-")
	_, err = hex.DecodeString(file)
	l.file = file
	l.at, _ = strconv.ParseInt(at, 10, 64)
	if err != nil || len(file) != fileNameLength || l.at < 0 || l.String() != text {
		return location{}, fmt.Errorf("%.40q is no place in an audit log", text)
	}
	return l, nil
}

// fileName names a file by its first line, since it is put aside to another path. It is empty where there is none yet.
func fileName(f io.ReaderAt) string {
	begin := make([]byte, 64<<10)
	n, _ := f.ReadAt(begin, 0)
	end := bytes.IndexByte(begin[:n], '\n')
	if end < 0 && n < len(begin) {
		return ""
	}
	if end < 0 {
		end = n
	}
	return fmt.Sprintf("%x", sha256.Sum256(begin[:end]))[:fileNameLength]
}

// hasEnd reports whether the log has the end of a call that began at a place in the file at hand.
func (s *search) hasEnd(call string, from int64) bool {
	for i, f := range append([]*os.File{s.current}, s.later...) {
		if i > 0 {
			from = 0
		}
		lines := bufio.NewReaderSize(io.NewSectionReader(f, from, math.MaxInt64-from), 64<<10)
		for {
			line, err := lines.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				continue // no entry is that long
			}
			if err != nil {
				break
			}
			if of, begun := callOf(line); of == call && !begun {
				return true
			}
		}
	}
	return false
}

// callOf returns the call of a line, and whether the line is of its begin. Behind the call there are no members that an
// agent can choose.
func callOf(line []byte) (call string, begun bool) {
	const member = `,"call":"`
	at := bytes.LastIndex(line, []byte(member))
	if at < 0 {
		return "", false
	}
	rest := line[at+len(member):]
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.Contains(rest, []byte(`,"decision":"`)) {
		return "", false // it is an argument
	}
	return string(rest[:end]), bytes.Contains(rest[end:], []byte(`"state":"`+Begun+`"`))
}
