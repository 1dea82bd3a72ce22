package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"time"
)

// VerifyResult describes a verified log.
type VerifyResult struct {
	Files     int       `json:"files"`
	Records   int       `json:"records"`
	Unchained int       `json:"unchained,omitempty"` // entries of old versions, without hashes
	Cut       int       `json:"cut,omitempty"`       // invalid lines; a power failure leaves one
	CutLines  []string  `json:"cut_lines,omitempty"` // the first of them, as file:line
	Whole     bool      `json:"whole"`               // no older files were removed
	From      time.Time `json:"from,omitzero"`
	To        time.Time `json:"to,omitzero"`
	Head      string    `json:"head,omitempty"` // hash of the last line
	Open      []Record  `json:"open,omitempty"` // calls without an end
	HasWanted bool      `json:"-"`              // a line has the wanted hash
}

// ChainError describes the first line at which the chain of a log is broken.
type ChainError struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Why  string `json:"why"`
}

func (b *ChainError) Error() string { return fmt.Sprintf("%s:%d: %s", b.File, b.Line, b.Why) }

// VerifyLog checks the hash chain of the log at a path from the first line to the last, across rotated files. A broken
// chain is a [*ChainError]. wanted is a hash noted earlier, or "".
//
// An attacker who can write the files can recompute all hashes, or remove the last entries. Only a hash noted elsewhere
// reveals that, because no line has it any more.
func VerifyLog(path, wanted string) (*VerifyResult, error) {
	return (&chainVerifier{wanted: chainHash(wanted)}).verifyLog(path)
}

func (v *chainVerifier) verifyLog(path string) (*VerifyResult, error) {
	r := &logReader{path: path}
	defer r.closeFiles()
	if err := r.openFiles(nil); err != nil {
		return nil, err
	}
	for i, f := range r.files {
		if err := v.verifyFile(f, i == len(r.files)-1); err != nil {
			return nil, err
		}
	}
	v.result.Head = string(v.last)
	v.result.Open = slices.SortedFunc(maps.Values(v.open), func(a, b Record) int { return a.Time.Compare(b.Time) })
	return &v.result, nil
}

// chainVerifier checks a hash chain line by line.
type chainVerifier struct {
	result   VerifyResult
	file     string // path of the file being read
	line     int    // number of its line
	wanted   chainHash
	last     chainHash
	chained  bool              // a line with a hash was seen
	open     map[string]Record // calls without an end so far
	position chainPosition
	each     func(chainPosition) // receives the position of every line with a hash; may be nil
}

func (v *chainVerifier) verifyFile(f *os.File, current bool) error {
	v.result.Files++
	v.file = f.Name()
	v.position.inFile = false
	before := v.result.Records
	lines := bufio.NewReaderSize(f, 64<<10)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		v.line = number
		if errors.Is(err, io.EOF) {
			if len(line) > 0 {
				v.countInvalidLine()
			}
			if (!current || number > 1 || len(line) > 0) && v.result.Records == before {
				return &ChainError{File: f.Name(), Line: number, Why: "the file has no entries: it was emptied, truncated or overwritten; " +
					"restore a copy"}
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		if why := v.verifyLine(bytes.TrimSuffix(line, []byte{'\n'})); why != "" {
			return &ChainError{File: f.Name(), Line: number, Why: why}
		}
	}
}

// maxCutLines limits the invalid lines that a result names.
const maxCutLines = 10

// countInvalidLine counts an invalid line, and records its place.
func (v *chainVerifier) countInvalidLine() {
	if v.result.Cut++; v.result.Cut <= maxCutLines {
		v.result.CutLines = append(v.result.CutLines, fmt.Sprintf("%s:%d", v.file, v.line))
	}
}

// verifyLine verifies a line. It returns a description of the fault, or "".
func (v *chainVerifier) verifyLine(line []byte) string {
	text, c, ok := splitChainedLine(line)
	if !ok {
		text = line
	}
	var record struct {
		Record
		previousFileLink
	}
	isRecord := json.Unmarshal(text, &record) == nil && !record.Time.IsZero()
	first := !v.chained && v.result.Unchained == 0
	switch {
	case ok && !isRecord:
		return "it has a hash but is no entry: it was changed"
	case !isRecord && len(bytes.TrimSpace(line)) == 0:
		return ""
	case !isRecord && first:
		return "it is no entry: the beginning of the log was overwritten or damaged; restore a copy"
	case !isRecord:
		v.countInvalidLine()
		return ""
	case !ok && v.chained:
		return "the entry has no hash, unlike earlier entries: it was changed, inserted, or written by an older picoclaw"
	case !ok:
		v.result.Unchained++
	case first:
		v.last, v.result.Whole = record.Follows, record.Follows == ""
	case record.Follows != "" && record.Follows != v.last:
		return "the file does not follow the previous entry: files or entries were removed or inserted"
	}
	if ok && c != v.last.nextHash(text) {
		return "the entry does not follow from the previous entry: it was changed, or others were removed, inserted or moved"
	}
	if v.result.Records++; v.result.From.IsZero() {
		v.result.From = record.Time
	}
	v.result.To = record.Time
	if record.IsOpen() {
		if v.open == nil {
			v.open = map[string]Record{}
		}
		v.open[record.Call] = record.Record
	} else {
		delete(v.open, record.Call)
	}
	if ok {
		v.chained, v.last = true, c
		v.position.addLine(c, func() previousFileLink { return record.previousFileLink })
		if v.each != nil {
			v.each(v.position)
		}
		v.result.HasWanted = v.result.HasWanted || c == v.wanted
	}
	return ""
}
