package main

import (
	"bufio"
	"io"
	"strings"
)

// complaints is what a program printed to standard error.
type complaints struct {
	first  string // the beginning, without those that are counted
	closed int    // how many files and directories it may not read
}

// maxComplaints is how much of them is kept, in bytes.
const maxComplaints = 8 << 10

// listen reads all of it: a program whose complaints nobody reads would stop.
func listen(r io.Reader) complaints {
	var c complaints
	var kept strings.Builder
	lines := bufio.NewReaderSize(r, maxComplaints)
	for {
		line, err := lines.ReadSlice('\n')
		text := strings.TrimSuffix(string(line), "\n")
		switch {
		case strings.HasSuffix(text, "(os error 13)") || strings.HasSuffix(text, "(os error 1)"): // EACCES, EPERM
			c.closed++
		case kept.Len()+len(line) <= maxComplaints:
			kept.Write(line)
		}
		if err != nil && err != bufio.ErrBufferFull {
			c.first = strings.TrimSpace(kept.String())
			return c
		}
	}
}
