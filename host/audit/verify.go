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

// Verified is what a log was found to be.
type Verified struct {
	Files     int       `json:"files"`
	Records   int       `json:"records"`
	Unchained int       `json:"unchained,omitempty"` // records from before there were chains
	Cut       int       `json:"cut,omitempty"`       // lines that are no records; a power failure leaves one
	Whole     bool      `json:"whole"`               // no files from before it were removed
	From      time.Time `json:"from,omitzero"`
	To        time.Time `json:"to,omitzero"`
	Head      string    `json:"head,omitempty"` // the chain of the last line
	Open      []Record  `json:"open,omitempty"` // calls that began and have no end
	Found     bool      `json:"-"`              // a line has the chain that was looked for
}

// Broken is the first place where a log is not as it was written.
type Broken struct {
	File string `json:"file"`
	Line int    `json:"line"`
	Why  string `json:"why"`
}

func (b *Broken) Error() string { return fmt.Sprintf("%s:%d: %s", b.File, b.Line, b.Why) }

// Verify follows the chain of the log at a path from its first line to its last, across the files that were put aside.
// The error is a [*Broken] where the chain is. wanted is a head that was noted earlier, or "".
//
// Whoever can write the files can write them anew with chains that fit. That shows in a head that was noted elsewhere:
// no line has it any more. Nor can it be told without one that the last records were removed.
func Verify(path, wanted string) (*Verified, error) {
	return (&verifier{wanted: chain(wanted)}).log(path)
}

// log follows the chain of a log.
func (v *verifier) log(path string) (*Verified, error) {
	r := &reader{path: path}
	defer r.close()
	if err := r.openFiles(nil); err != nil {
		return nil, err
	}
	for i, f := range r.files {
		if err := v.file(f, i == len(r.files)-1); err != nil {
			return nil, err
		}
	}
	v.found.Head = string(v.last)
	v.found.Open = slices.SortedFunc(maps.Values(v.open), func(a, b Record) int { return a.Time.Compare(b.Time) })
	return &v.found, nil
}

// verifier follows a chain.
type verifier struct {
	found   Verified
	wanted  chain
	last    chain
	chained bool              // a line with a chain was seen
	open    map[string]Record // calls without an end so far
	at      position
	each    func(position) // is told of every line with a chain; may be nil
}

func (v *verifier) file(f *os.File, current bool) error {
	v.found.Files++
	v.at.inFile = false
	before := v.found.Records
	lines := bufio.NewReaderSize(f, 64<<10)
	for number := 1; ; number++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			if len(line) > 0 && !current {
				v.found.Cut++ // nobody will end it now
			}
			if !current && v.found.Records == before {
				return &Broken{File: f.Name(), Line: number, Why: "the file holds no record, and a file is put aside when it is full: " +
					"it was emptied or overwritten; put back a copy"}
			}
			return nil
		}
		if err != nil {
			return fmt.Errorf("read the audit log: %w", err)
		}
		if why := v.line(bytes.TrimSuffix(line, []byte{'\n'})); why != "" {
			return &Broken{File: f.Name(), Line: number, Why: why}
		}
	}
}

// line says what is wrong with a line, if anything is.
func (v *verifier) line(line []byte) string {
	text, c, ok := unchain(line)
	if !ok {
		text = line
	}
	var record struct {
		Record
		origin
	}
	isRecord := json.Unmarshal(text, &record) == nil && !record.Time.IsZero()
	first := !v.chained && v.found.Unchained == 0
	switch {
	case ok && !isRecord:
		return "it has a chain and is no record: it was altered"
	case !isRecord:
		if len(bytes.TrimSpace(line)) > 0 {
			v.found.Cut++
		}
		return ""
	case !ok && v.chained:
		return "the record has no chain, and those before it have: it was altered, put in, or written by an older picoclaw"
	case !ok:
		v.found.Unchained++
	case first:
		v.last, v.found.Whole = record.Follows, record.Follows == ""
	case record.Follows != "" && record.Follows != v.last:
		return "the file follows a record that is not the one before: files or records were removed or put in"
	}
	if ok && c != v.last.next(text) {
		return "the record does not follow from the one before: it was altered, or others were removed, put in or moved"
	}
	if v.found.Records++; v.found.From.IsZero() {
		v.found.From = record.Time
	}
	v.found.To = record.Time
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
		v.at.add(c, func() origin { return record.origin })
		if v.each != nil {
			v.each(v.at)
		}
		v.found.Found = v.found.Found || c == v.wanted
	}
	return ""
}
