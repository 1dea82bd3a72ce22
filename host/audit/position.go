package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// chainPosition is a position in a hash chain, which may span several files.
type chainPosition struct {
	first chainHash // hash of the chain's first line, which identifies the chain
	count int       // lines up to here
	head  chainHash // hash of the last line

	inFile bool // a line of the current file is included
}

// previousFileLink is the part of a file's first line that links it to the previous file.
type previousFileLink struct {
	Follows chainHash `json:"follows"`
	Begins  chainHash `json:"begins"`
	Count   int       `json:"count"`
}

// addLine advances the position by a line. A first line without a link to a previous file begins a new chain.
func (p *chainPosition) addLine(c chainHash, read func() previousFileLink) {
	if !p.inFile {
		*p = chainPosition{first: c, inFile: true}
		if o := read(); o.Follows != "" && o.Begins != "" && o.Count > 0 {
			p.first, p.count = o.Begins, o.Count
		}
	}
	p.count++
	p.head = c
}

// addFileLines advances the position by the lines of a file, and returns the size of the complete lines.
func (p *chainPosition) addFileLines(f io.Reader) (size int64, err error) {
	lines := bufio.NewReaderSize(f, 64<<10)
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return size, nil
		}
		if err != nil {
			return size, err
		}
		size += int64(len(line))
		if record, c, ok := splitChainedLine(bytes.TrimSuffix(line, []byte{'\n'})); ok {
			p.addLine(c, func() (o previousFileLink) {
				_ = json.Unmarshal(record, &o) // no header begins a chain
				return o
			})
		}
	}
}

func chainPositionAt(f io.ReaderAt, end int64) (p chainPosition, err error) {
	_, err = p.addFileLines(io.NewSectionReader(f, 0, end))
	return p, err
}
