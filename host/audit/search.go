package audit

import (
	"bufio"
	"bytes"
	"cmp"
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

// Searches work without an index, which every writer would have to update. They read files backward, find times by
// binary search, and reject lines by their bytes. A search for rare entries takes several short pages; each returns how
// far it came.

const (
	maxSearched = 64 << 20 // bytes searched for one page
	maxParsed   = 5_000    // lines parsed for one page
)

// maxCallTime is the longest call that a search by start time finds. The log is sorted by the time at which calls
// ended. A search for calls that started before a time therefore reads maxCallTime beyond it.
const maxCallTime = time.Hour

// LogQuery is a search in the log: a filter, a page size and a start.
type LogQuery struct {
	Filter
	Limit int    // at least 1
	After string // [LogPage.Next] of the previous page; empty for the latest entries
}

// LogPage is a page of search results, the latest call first.
type LogPage struct {
	Records []Record
	Next    string    // start of the next page; empty at the end
	Reached time.Time // time of the oldest entry searched; zero if none
	Broken  int       // number of invalid lines
}

// ErrNotInLog says that the log does not have an entry or location, for example because its file was removed.
var ErrNotInLog = errors.New("it never existed, or its file was removed (audit.max_files)")

// SearchLog returns a page with the latest matching entries of the log at a path. It reads a bounded part of the log,
// so a page with a Next may have few entries or none.
func SearchLog(path string, q LogQuery) (*LogPage, error) {
	r := &logReader{path: path}
	defer r.closeFiles()
	if err := r.openFiles(nil); err != nil {
		return nil, err
	}
	from, err := parseLocation(q.After)
	if err != nil {
		return nil, err
	}
	s := &logSearch{LogQuery: q, sieve: q.buildLineFilter()}
	reached := q.After == ""
	for i, f := range slices.Backward(r.files) {
		info, err := f.Stat()
		if err != nil {
			return nil, fmt.Errorf("search the audit log: %w", err)
		}
		s.location = logLocation{file: logFileID(f), offset: info.Size()}
		s.oldest = i == 0
		if reached && !endsWithNewline(f, s.location.offset) {
			s.page.Broken++
		}
		switch {
		case s.location.file == "" || !reached && s.location.file != from.file:
			continue
		case !reached && from.offset > s.location.offset:
			return nil, fmt.Errorf("the audit log lacks the entries before: %w", ErrNotInLog)
		case !reached:
			s.location.offset, reached = from.offset, true
		}
		if more, err := s.searchFile(f, r.files[i+1:]); err != nil {
			return nil, fmt.Errorf("search the audit log: %w", err)
		} else if !more {
			break
		}
	}
	if !reached {
		return nil, fmt.Errorf("the audit log lacks the entries before: %w", ErrNotInLog)
	}
	return &s.page, nil
}

// endsWithNewline reports whether a file of this size ends with a line feed, or is empty.
func endsWithNewline(f io.ReaderAt, size int64) bool {
	last := []byte{'\n'}
	_, _ = f.ReadAt(last, max(size-1, 0))
	return last[0] == '\n' || size == 0
}

// FindCall returns the call that a session made at a time.
func FindCall(path, session string, at time.Time) (Record, error) {
	q := LogQuery{Filter: Filter{Session: session, Since: at, Until: at.Add(1)}, Limit: 1}
	for {
		page, err := SearchLog(path, q)
		switch {
		case err != nil:
			return Record{}, err
		case len(page.Records) > 0:
			return page.Records[0], nil
		case page.Next == "":
			return Record{}, fmt.Errorf("the audit log has no such call: %w", ErrNotInLog)
		}
		q.After = page.Next
	}
}

// logSearch is a backward search through the files of a log.
type logSearch struct {
	LogQuery
	sieve    linePrefilter
	current  *os.File   // file being searched
	later    []*os.File // newer files
	oldest   bool       // current is the oldest file
	location logLocation
	page     LogPage

	searched, parsed int
	starts           []int // offsets of candidate lines in a block
}

// searchFile searches a file backward from the current location. more is false when the page is complete.
func (s *logSearch) searchFile(f *os.File, later []*os.File) (more bool, err error) {
	s.current, s.later = f, later
	end := s.location.offset
	if !s.Until.IsZero() {
		if end, err = findTimeOffset(f, end, s.Until.Add(maxCallTime)); err != nil {
			return false, err
		}
	}
	more = true
	err = readLinesBackward(f, end, func(at int64, lines []byte) bool {
		more = s.searchBlock(at, lines)
		return more
	})
	return more, err
}

// searchBlock searches the lines of a block that begins at an offset, from the last to the first.
func (s *logSearch) searchBlock(begin int64, lines []byte) (more bool) {
	if s.sieve.mayMatch(lines) {
		s.starts = s.starts[:0]
		for at := s.sieve.firstCandidateOffset(lines); at < len(lines); at += s.sieve.firstCandidateOffset(lines[at:]) {
			s.starts = append(s.starts, at)
			at += bytes.IndexByte(lines[at:], '\n') + 1
		}
		for _, at := range slices.Backward(s.starts) {
			line := lines[at : at+bytes.IndexByte(lines[at:], '\n')]
			s.location.offset = begin + int64(at)
			if s.sieve.mayMatch(line) && !s.searchLine(line) {
				return false
			}
		}
	}
	s.location.offset = begin
	s.searched += len(lines)
	if _, first, ok := parseFirstRecord(lines); ok {
		s.page.Reached = first.EndTime()
	}
	if !s.Since.IsZero() && s.page.Reached.Before(s.Since.Add(-maxCallTime)) {
		return false
	}
	return s.searched < maxSearched || s.endPage()
}

// searchLine parses a line, and adds its entry to the page if it matches.
func (s *logSearch) searchLine(line []byte) (more bool) {
	r, ok := parseRecordLine(line)
	switch {
	case ok:
		s.page.Reached = r.EndTime()
		if s.Matches(r) && (!r.IsOpen() || !s.hasCallEnd(r.Call, s.location.offset)) {
			s.page.Records = append(s.page.Records, r)
		}
	case len(bytes.TrimSpace(line)) > 0:
		s.page.Broken++
	}
	s.parsed++
	return len(s.page.Records) < s.Limit && s.parsed < maxParsed || s.endPage()
}

// endPage ends the page, so that the next page continues at the current location.
func (s *logSearch) endPage() (more bool) {
	if s.location.offset > 0 || !s.oldest {
		s.page.Next = s.location.String()
	}
	return false
}

// logLocation is the position of a line in a log.
type logLocation struct {
	file   string // as returned by logFileID
	offset int64
}

func (l logLocation) String() string { return l.file + "-" + strconv.FormatInt(l.offset, 10) }

const fileIDLength = 16

// parseLocation parses the text form of a location. Empty text is the zero location.
func parseLocation(text string) (l logLocation, err error) {
	if text == "" {
		return l, nil
	}
	file, at, _ := strings.Cut(text, "-")
	_, err = hex.DecodeString(file)
	l.file = file
	l.offset, _ = strconv.ParseInt(at, 10, 64)
	if err != nil || len(file) != fileIDLength || l.offset < 0 || l.String() != text {
		return logLocation{}, fmt.Errorf("%.40q is no position in an audit log", text)
	}
	return l, nil
}

// logFileID identifies a log file by its first line, since rotation changes its name. An empty file has an empty id.
func logFileID(f io.ReaderAt) string {
	begin := make([]byte, 64<<10)
	n, _ := f.ReadAt(begin, 0)
	end := bytes.IndexByte(begin[:n], '\n')
	if end < 0 && n < len(begin) {
		return ""
	}
	if end < 0 {
		end = n
	}
	return fmt.Sprintf("%x", sha256.Sum256(begin[:end]))[:fileIDLength]
}

// hasCallEnd reports whether the log has the end of a call, after an offset of the current file.
func (s *logSearch) hasCallEnd(call string, from int64) bool {
	for i, f := range append([]*os.File{s.current}, s.later...) {
		if i > 0 {
			from = 0
		}
		lines := bufio.NewReaderSize(io.NewSectionReader(f, from, math.MaxInt64-from), 64<<10)
		for {
			line, err := lines.ReadSlice('\n')
			if errors.Is(err, bufio.ErrBufferFull) {
				continue // longer than any entry
			}
			if err != nil {
				break
			}
			if of, begun := parseCallID(line); of == call && !begun {
				return true
			}
		}
	}
	return false
}

// parseCallID returns the call id in a line, and whether the line begins the call. Agents can't influence the members
// after the id.
func parseCallID(line []byte) (call string, begun bool) {
	const member = `,"call":"`
	at := bytes.LastIndex(line, []byte(member))
	if at < 0 {
		return "", false
	}
	rest := line[at+len(member):]
	end := bytes.IndexByte(rest, '"')
	if end < 0 || bytes.Contains(rest, []byte(`,"decision":"`)) {
		return "", false // part of an argument
	}
	return string(rest[:end]), bytes.Contains(rest[end:], []byte(`"state":"`+Begun+`"`))
}

// ToolStats are the statistics of one tool's calls.
type ToolStats struct {
	Tool   string  `json:"tool"`
	Calls  int     `json:"calls"`
	Denied int     `json:"denied"`         // refused calls
	Failed int     `json:"failed"`         // calls that were made and failed
	Open   int     `json:"open,omitempty"` // calls without an end
	Bytes  int     `json:"result_bytes"`
	P50    float64 `json:"p50_ms"` // of calls that were made; 0 without any
	P99    float64 `json:"p99_ms"`
}

// ToolStatsCollector collects statistics of calls by tool. The zero value is ready to use.
type ToolStatsCollector struct {
	tools map[string]*ToolStats
	times map[string][]float64
}

// AddRecord adds a call to the statistics.
func (s *ToolStatsCollector) AddRecord(r Record) {
	if s.tools == nil {
		s.tools, s.times = map[string]*ToolStats{}, map[string][]float64{}
	}
	t := s.tools[r.Tool]
	if t == nil {
		t = &ToolStats{Tool: r.Tool}
		s.tools[r.Tool] = t
	}
	t.Calls++
	t.Bytes += r.Bytes
	switch {
	case r.WasDenied():
		t.Denied++
		return
	case r.IsOpen():
		t.Open++
		return
	case r.Error != "":
		t.Failed++
	}
	s.times[r.Tool] = append(s.times[r.Tool], r.Millis)
}

// ToolStats returns the statistics by tool, the most called first.
func (s *ToolStatsCollector) ToolStats() []ToolStats {
	out := make([]ToolStats, 0, len(s.tools))
	for tool, t := range s.tools {
		times := s.times[tool]
		slices.Sort(times)
		t.P50, t.P99 = percentile(times, 50), percentile(times, 99)
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b ToolStats) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls),
			cmp.Compare(a.Tool, b.Tool))
	})
	return out
}

// percentile returns the p-th percentile of sorted values: the smallest value that is not below p percent of them.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(p/100*float64(len(sorted))))-1, 0)]
}
