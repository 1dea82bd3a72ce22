package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
)

// position is a place in a chain.
type position struct {
	begins chain // that of the chain's first line, which names the chain
	count  int   // of its lines up to here
	head   chain // of the last of them

	inFile bool // a line of the file at hand is among them
}

// origin is what the first line of a file says of those before it.
type origin struct {
	Follows chain `json:"follows"`
	Begins  chain `json:"begins"`
	Count   int   `json:"count"`
}

// add goes on by a line with a chain. A file whose first line does not say where it is in its chain begins one.
func (p *position) add(c chain, read func() origin) {
	if !p.inFile {
		*p = position{begins: c, inFile: true}
		if o := read(); o.Follows != "" && o.Begins != "" && o.Count > 0 {
			p.begins, p.count = o.Begins, o.Count
		}
	}
	p.count++
	p.head = c
}

// read goes on by the lines of a file, and returns how many bytes those with an end are.
func (p *position) read(f io.Reader) (size int64, err error) {
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
		if record, c, ok := unchain(bytes.TrimSuffix(line, []byte{'\n'})); ok {
			p.add(c, func() (o origin) {
				_ = json.Unmarshal(record, &o) // what says nothing begins a chain
				return o
			})
		}
	}
}

// positionAt returns where a file is in its chain at its end.
func positionAt(f io.ReaderAt, end int64) (p position, err error) {
	_, err = p.read(io.NewSectionReader(f, 0, end))
	return p, err
}
