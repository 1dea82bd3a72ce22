// Package replace finds the place in a text that an edit means.
//
// A place is found exactly, or else differing in nothing but line endings, or else in nothing but the unit of
// indentation; and only if it is the only one. Nothing looser is ever taken: what is left is a miss, which tells the
// nearest places. The package works on strings and must not know of files or tools.
package replace

import (
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
)

// How says in which way a place was found.
type How string

// The ways.
const (
	Exactly     How = ""
	LineEndings How = "line_endings" // it differs in line endings
	Indentation How = "indentation"  // it differs in the unit of indentation
)

// Unique, as a count, stands for one occurrence that is the only one.
const Unique = -1

// Splice replaces one part of a text.
type Splice struct {
	From, To int
	New      string
}

// Found is where an edit takes place.
type Found struct {
	Splices []Splice // in the order of the text, none overlapping another
	How     How
}

// Empty is the error of an edit of nothing, and Same of one that changes nothing.
type (
	Empty struct{}
	Same  struct{}
)

func (Empty) Error() string { return "the text to replace is empty" }
func (Same) Error() string  { return "the old and the new text are the same" }

// Ambiguous is the error of an edit that could mean several places.
type Ambiguous struct {
	Count int   // how many, counting also those that overlap
	Lines []int // where they begin, the first few
	More  bool  // there are more lines
	How   How
}

func (e *Ambiguous) Error() string { return fmt.Sprintf("the text appears %d times", e.Count) }

// Miss is the error of an edit whose place is not there.
type Miss struct{ Nearest []Place }

func (*Miss) Error() string { return "the text is not there" }

// Place is a part of a text that is like what was looked for.
type Place struct {
	First, Last int // line numbers, from 1
	Lines       []string
}

// Find finds what to replace. count is how many occurrences, from the first: 0 for all, or Unique.
func Find(s, old, new string, count int) (*Found, error) {
	if old == "" {
		return nil, Empty{}
	}
	if old == new {
		return nil, Same{}
	}
	if f, err := exact(s, old, new, count); f != nil || err != nil {
		return f, err
	}
	if spans := acrossEndings(s, old, new); len(spans) > 0 {
		return only(s, spans, LineEndings)
	}
	if spans := acrossIndentation(s, old, new); len(spans) > 0 {
		return only(s, spans, Indentation)
	}
	return nil, &Miss{Nearest: nearest(s, old)}
}

// exact finds a text as it is, byte for byte.
func exact(s, old, new string, count int) (*Found, error) {
	first := strings.Index(s, old)
	if first < 0 {
		return nil, nil
	}
	if count == Unique {
		if n, lines := occurrences(s, old); n > 1 {
			return nil, &Ambiguous{Count: n, Lines: lines[:min(len(lines), fewLines)], More: len(lines) > fewLines}
		}
		count = 1
	}
	f := &Found{}
	for at := first; count == 0 || len(f.Splices) < count; {
		f.Splices = append(f.Splices, Splice{at, at + len(old), withEndings(s, old, new, at)})
		next := strings.Index(s[at+len(old):], old)
		if next < 0 {
			break
		}
		at += len(old) + next
	}
	return f, nil
}

// withEndings gives new text the line ending of its place: that of the text it replaces, or else of the line around.
func withEndings(s, old, new string, at int) string {
	if strings.Contains(old, "\n") {
		if strings.Contains(old, "\r\n") {
			return text.WithEndings(new, "\r\n")
		}
		return new
	}
	return text.WithEndings(new, text.EndingNear(s, at))
}

// fewLines is how many lines of an ambiguous text are told.
const fewLines = 10

// occurrences counts where a text begins, overlapping ones too: "aa" is in "aaa" twice, so it is not unique.
func occurrences(s, old string) (n int, lines []int) {
	line, counted := 1, 0
	for at := 0; ; at++ {
		next := strings.Index(s[at:], old)
		if next < 0 {
			return n, lines
		}
		at += next
		if n++; len(lines) <= fewLines {
			line += strings.Count(s[counted:at], "\n")
			counted = at
			if len(lines) == 0 || lines[len(lines)-1] != line {
				lines = append(lines, line)
			}
		}
	}
}

// only takes a single place, and refuses to choose between several.
func only(s string, spans []Splice, how How) (*Found, error) {
	if len(spans) == 1 {
		return &Found{Splices: spans, How: how}, nil
	}
	e := &Ambiguous{Count: len(spans), How: how, More: len(spans) > fewLines}
	for _, span := range spans[:min(len(spans), fewLines)] {
		e.Lines = append(e.Lines, text.LineAt(s, span.From))
	}
	return nil, e
}

// acrossEndings finds the places that differ from a text in nothing but line endings.
func acrossEndings(s, old, new string) []Splice {
	if !strings.Contains(old, "\n") || (!strings.Contains(s, "\r\n") && !strings.Contains(old, "\r\n")) {
		return nil
	}
	old = strings.ReplaceAll(old, "\r\n", "\n")
	anchor, _, _ := strings.Cut(old, "\n")
	var found []Splice
	for at := 0; at <= len(s); {
		next := strings.Index(s[at:], anchor)
		if next < 0 {
			break
		}
		at += next
		inEnding := at > 0 && at < len(s) && s[at-1] == '\r' && s[at] == '\n' // no place to begin at
		if end, ok := matchEndings(s, old, at); ok && !inEnding {
			ending := "\n"
			if strings.Contains(s[at:end], "\r\n") {
				ending = "\r\n"
			}
			found = append(found, Splice{at, end, text.WithEndings(strings.ReplaceAll(new, "\r\n", "\n"), ending)})
		}
		at++
	}
	return found
}

// matchEndings compares at one place; a newline of the text stands for either line ending.
func matchEndings(s, old string, at int) (end int, ok bool) {
	for {
		line, rest, more := strings.Cut(old, "\n")
		if !strings.HasPrefix(s[at:], line) {
			return 0, false
		}
		at += len(line)
		if !more {
			return at, true
		}
		switch {
		case strings.HasPrefix(s[at:], "\r\n"):
			at += 2
		case strings.HasPrefix(s[at:], "\n"):
			at++
		default:
			return 0, false
		}
		old = rest
	}
}
