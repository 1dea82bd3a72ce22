package replace

import (
	"strings"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
)

// candidateIndentUnits returns the units of indentation that are tried.
func candidateIndentUnits() []string {
	return []string{"\t", "  ", "    ", "        ", "   ", " ", "      "}
}

// indentedLine is a line of a text: indentation, rest, and offset.
type indentedLine struct {
	indent, body string
	from, to     int // to is before the line ending
	end          int // to is after it
}

func splitLines(s string) []indentedLine {
	var lines []indentedLine
	for at := 0; at < len(s); {
		next := strings.IndexByte(s[at:], '\n')
		l := indentedLine{from: at}
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

// findReindented finds ranges with the same lines and indentation levels in another unit, such as tabs for spaces.
func findReindented(s, old, new string) []RangeReplacement {
	wanted, lines := splitLines(old), splitLines(s)
	if len(wanted) == 0 || len(wanted) > len(lines) {
		return nil
	}
	var found []RangeReplacement
	for i := 0; i+len(wanted) <= len(lines); i++ {
		if lines[i].body != wanted[0].body {
			continue
		}
		window := lines[i : i+len(wanted)]
		from, to, ok := findUnitConversion(wanted, window)
		if !ok {
			continue
		}
		written, ok := reindent(new, from, to)
		if !ok {
			continue
		}
		last := window[len(window)-1]
		span := RangeReplacement{window[0].from, last.to, text.ConvertLineEndings(written, text.LineEndingAt(s, window[0].from))}
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

// findUnitConversion returns the indentation units of wanted and window, if exactly one pair makes all levels equal.
func findUnitConversion(wanted, window []indentedLine) (from, to string, ok bool) {
	for i, w := range wanted {
		if w.body != window[i].body {
			return "", "", false
		}
	}
	for _, from := range candidateIndentUnits() {
		for _, to := range candidateIndentUnits() {
			if from != to && haveEqualIndentLevels(wanted, window, from, to) {
				return from, to, true
			}
		}
	}
	return "", "", false
}

// haveEqualIndentLevels reports whether all lines have equal indentation levels, with the units from and to.
func haveEqualIndentLevels(wanted, window []indentedLine, from, to string) bool {
	indented := false
	for i, w := range wanted {
		if w.body == "" {
			continue // whitespace on an empty line means nothing
		}
		a, okA := indentLevel(w.indent, from)
		b, okB := indentLevel(window[i].indent, to)
		if !okA || !okB || a != b {
			return false
		}
		indented = indented || a > 0
	}
	return indented
}

// indentLevel returns the number of units in an indentation.
func indentLevel(indent, unit string) (int, bool) {
	n := len(indent) / len(unit)
	return n, indent == strings.Repeat(unit, n)
}

// reindent replaces one unit of indentation with another. ok is false if a line has a fraction of a unit.
func reindent(s, from, to string) (string, bool) {
	var b strings.Builder
	for _, l := range splitLines(s) {
		n, ok := indentLevel(l.indent, from)
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
