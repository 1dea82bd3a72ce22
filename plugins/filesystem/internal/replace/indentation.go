package replace

import (
	"strings"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
)

// units are what one level of indentation may be.
func units() []string { return []string{"\t", "  ", "    ", "        ", "   ", " ", "      "} }

// line is a line of a text: its indentation, the rest, and where it is.
type line struct {
	indent, body string
	from, to     int // to is before the line ending
	end          int // to is after it
}

func split(s string) []line {
	var lines []line
	for at := 0; at < len(s); {
		next := strings.IndexByte(s[at:], '\n')
		l := line{from: at}
		if next < 0 {
			l.to, l.end = len(s), len(s)
		} else {
			l.to, l.end = at+next, at+next+1
			if l.to > at && s[l.to-1] == '\r' {
				l.to--
			}
		}
		whole := s[at:l.to]
		l.body = strings.TrimLeft(whole, " \t")
		l.indent = whole[:len(whole)-len(l.body)]
		lines = append(lines, l)
		at = l.end
	}
	return lines
}

// acrossIndentation finds the places that are the same lines as a text, each at the same level of indentation, where a
// level is written by another unit: tabs for four spaces, say.
func acrossIndentation(s, old, new string) []Splice {
	wanted, lines := split(old), split(s)
	if len(wanted) == 0 || len(wanted) > len(lines) {
		return nil
	}
	var found []Splice
	for i := 0; i+len(wanted) <= len(lines); i++ {
		if lines[i].body != wanted[0].body {
			continue
		}
		window := lines[i : i+len(wanted)]
		from, to, ok := conversion(wanted, window)
		if !ok {
			continue
		}
		written, ok := reindent(new, from, to)
		if !ok {
			continue
		}
		last := window[len(window)-1]
		span := Splice{window[0].from, last.to, text.WithEndings(written, text.EndingNear(s, window[0].from))}
		if strings.HasSuffix(old, "\n") {
			if last.end == last.to {
				continue // the text goes on after this line, the file does not
			}
			span.To = last.end
		}
		found = append(found, span)
	}
	return found
}

// conversion returns the one pair of units that makes the indentation of some lines that of others.
func conversion(wanted, window []line) (from, to string, ok bool) {
	for i, w := range wanted {
		if w.body != window[i].body {
			return "", "", false
		}
	}
	for _, from := range units() {
		for _, to := range units() {
			if from != to && converts(wanted, window, from, to) {
				return from, to, true
			}
		}
	}
	return "", "", false
}

// converts reports whether every line is at the same level in both.
func converts(wanted, window []line, from, to string) bool {
	indented := false
	for i, w := range wanted {
		if w.body == "" {
			continue // whitespace on an empty line means nothing
		}
		a, okA := level(w.indent, from)
		b, okB := level(window[i].indent, to)
		if !okA || !okB || a != b {
			return false
		}
		indented = indented || a > 0
	}
	return indented
}

// level returns how many units an indentation is made of.
func level(indent, unit string) (int, bool) {
	n := len(indent) / len(unit)
	return n, indent == strings.Repeat(unit, n)
}

// reindent writes the levels of a text by another unit; false if a line is between two levels.
func reindent(s, from, to string) (string, bool) {
	var b strings.Builder
	for _, l := range split(s) {
		n, ok := level(l.indent, from)
		if !ok && l.body != "" {
			return "", false
		}
		if l.body != "" {
			b.WriteString(strings.Repeat(to, n))
		}
		b.WriteString(l.body)
		if l.end > l.to {
			b.WriteByte('\n')
		}
	}
	return b.String(), true
}
