package text

import (
	"strconv"
	"strings"
)

// The line endings of a text.
const (
	LF    = "lf"
	CRLF  = "crlf"
	Mixed = "mixed"
	None  = "none" // a single line without an end
)

// DetectLineEnding returns the line endings in a text: LF, CRLF, Mixed or None.
func DetectLineEnding(s string) string {
	all, crlf := strings.Count(s, "\n"), strings.Count(s, "\r\n")
	switch {
	case all == 0:
		return None
	case crlf == 0:
		return LF
	case crlf == all:
		return CRLF
	}
	return Mixed
}

// LineEndingAt returns the line ending of the line at an offset, or of an earlier line if that has none: "\n" or
// "\r\n", or "\r" in a text that has no newline and ends with "\r".
func LineEndingAt(s string, at int) string {
	end := strings.IndexByte(s[at:], '\n')
	if end >= 0 {
		end += at
	} else {
		end = strings.LastIndexByte(s, '\n')
	}
	if end < 0 && strings.HasSuffix(s, "\r") {
		return "\r"
	}
	if end > 0 && s[end-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// ConvertLineEndings replaces bare newlines by another line ending. It does not change a text with carriage returns,
// because its author chose the endings.
func ConvertLineEndings(s, ending string) string {
	if ending == "\n" || strings.Contains(s, "\r") {
		return s
	}
	return strings.ReplaceAll(s, "\n", ending)
}

// CountLines returns the number of lines. A last line without newline counts.
func CountLines(s string) int {
	n := strings.Count(s, "\n")
	if s != "" && !strings.HasSuffix(s, "\n") {
		n++
	}
	return n
}

// LineNumberAt returns the number, from 1, of the line at an offset.
func LineNumberAt(s string, at int) int { return strings.Count(s[:at], "\n") + 1 }

// LineOffset returns the offset of a line by its number, from 1. ok is false if there is no such line. After a final
// newline, one more empty line counts.
func LineOffset(s string, line int) (int, bool) {
	at := 0
	for n := 1; n < line; n++ {
		next := strings.IndexByte(s[at:], '\n')
		if next < 0 {
			return len(s), false
		}
		at += next + 1
	}
	return at, true
}

// AddLineNumbers puts right-aligned line numbers before lines, beginning with first: " 1│import os". largest is the
// largest number of the text.
func AddLineNumbers(s string, first, largest int) string {
	if s == "" {
		return ""
	}
	width := len(strconv.Itoa(max(largest, 1)))
	var b strings.Builder
	b.Grow(len(s) + (strings.Count(s, "\n")+1)*(width+3))
	for n := first; s != ""; n++ {
		line := s
		if end := strings.IndexByte(s, '\n'); end >= 0 {
			line = s[:end+1]
		}
		s = s[len(line):]
		number := strconv.Itoa(n)
		for range width - len(number) {
			b.WriteByte(' ')
		}
		b.WriteString(number)
		b.WriteString("│")
		if ended := strings.HasSuffix(line, "\n"); ended {
			b.WriteString(strings.TrimSuffix(line[:len(line)-1], "\r"))
			b.WriteByte('\n')
		} else {
			b.WriteString(line)
		}
	}
	return b.String()
}

// LinesAround returns the lines that contain a range, with context lines around them, and the number of the first.
func LinesAround(s string, from, to, context int) (lines string, first int) {
	start := strings.LastIndexByte(s[:from], '\n') + 1
	first = LineNumberAt(s, start)
	for range context {
		if start == 0 {
			break
		}
		start = strings.LastIndexByte(s[:start-1], '\n') + 1
		first--
	}
	end := to
	if to > from && s[to-1] == '\n' {
		end-- // what ends with its line does not reach into the next
	}
	for n := 0; n <= context && end < len(s); n++ {
		next := strings.IndexByte(s[end:], '\n')
		if next < 0 {
			end = len(s)
			break
		}
		end += next + 1
	}
	return s[start:end], first
}

// ShowWhitespace makes whitespace visible: tabs as →, trailing spaces as ·, a carriage return as ␍; others escaped.
func ShowWhitespace(line string) string {
	line = strings.TrimSuffix(line, "\n")
	body := strings.TrimLeft(line, " \t")
	lead := line[:len(line)-len(body)]
	middle := strings.TrimRight(body, " \t\r")
	tail := body[len(middle):]
	show := strings.NewReplacer(" ", "·", "\t", "→", "\r", "␍")
	var b strings.Builder
	b.WriteString(show.Replace(lead))
	for _, r := range middle {
		switch {
		case r == '\t':
			b.WriteRune('→')
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
	}
	b.WriteString(show.Replace(tail))
	return b.String()
}
