package main

import (
	"bytes"
	"errors"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
)

// lineWindowWriter keeps a range of the lines written to it, up to a number of bytes, and counts all lines.
type lineWindowWriter struct {
	from, to int // line numbers from 1; to is 0 for the last
	room     int
	skip     bool // keep none
	hurry    bool // end with errStopReading once nothing more is to be kept, or the lines are too far in

	kept    bytes.Buffer
	full    bool  // the room did not suffice for all lines
	begin   int64 // offset of the first kept line, in bytes
	newline int   // number of newlines so far
	crlf    int
	seen    int64
	last    byte
}

func (l *lineWindowWriter) Write(p []byte) (int, error) {
	rest := p
	for len(rest) > 0 && !l.skip && !l.full && (l.to == 0 || l.newline < l.to) {
		if l.newline+1 < l.from {
			rest = l.skipLine(rest)
			continue
		}
		if l.kept.Len() == 0 {
			l.begin = l.seen + int64(len(p)-len(rest))
		}
		rest = l.keepLines(rest)
	}
	l.countLines(rest)
	l.seen += int64(len(p))
	if l.hurry && (l.full || l.to > 0 && l.newline >= l.to || l.kept.Len() == 0 && l.seen >= maxFullReadBytes) {
		return len(p), errStopReading
	}
	return len(p), nil
}

// errStopReading ends the read of a file when the window is complete.
var errStopReading = errors.New("no further lines needed")

// skipLine counts one line without keeping it, and returns the rest.
func (l *lineWindowWriter) skipLine(p []byte) []byte {
	end := bytes.IndexByte(p, '\n') + 1
	if end == 0 {
		end = len(p)
	}
	l.countLines(p[:end])
	return p[end:]
}

// keepLines keeps the wanted lines at the beginning of p and returns the rest.
func (l *lineWindowWriter) keepLines(p []byte) []byte {
	end := len(p)
	if l.to > 0 {
		// As many newlines as lines are still wanted.
		end = 0
		for n := l.newline; n < l.to && end < len(p); n++ {
			next := bytes.IndexByte(p[end:], '\n')
			if next < 0 {
				end = len(p)
				break
			}
			end += next + 1
		}
	}
	if over := l.kept.Len() + end - l.room - 1; over > 0 {
		end -= over
		l.full = true
	}
	l.kept.Write(p[:end])
	l.countLines(p[:end])
	return p[end:]
}

func (l *lineWindowWriter) countLines(p []byte) {
	if len(p) == 0 {
		return
	}
	l.newline += bytes.Count(p, []byte{'\n'})
	l.crlf += bytes.Count(p, []byte("\r\n"))
	if l.last == '\r' && p[0] == '\n' {
		l.crlf++
	}
	l.last = p[len(p)-1]
}

func (l *lineWindowWriter) lineCount() int {
	if l.seen > 0 && l.last != '\n' {
		return l.newline + 1
	}
	return l.newline
}

func (l *lineWindowWriter) lineEnding() string {
	switch {
	case l.newline == 0:
		return text.None
	case l.crlf == 0:
		return text.LF
	case l.crlf == l.newline:
		return text.CRLF
	}
	return text.Mixed
}
