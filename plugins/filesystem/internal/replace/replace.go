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

// MatchKind says how a place was found.
type MatchKind string

// The ways.
const (
	Exactly     MatchKind = ""
	LineEndings MatchKind = "line_endings" // it differs in line endings
	Indentation MatchKind = "indentation"  // it differs in the unit of indentation
)

// Unique, as a count, stands for one occurrence that is the only one.
const Unique = -1

// Splice replaces one part of a text.
type Splice struct {
	From, To int
	New      string
}

// Match is where an edit takes place.
type Match struct {
	Splices []Splice // in the order of the text, none overlapping another
	How     MatchKind
}

// Empty is the error of an edit of nothing, and Same of one that changes nothing.
type (
	// EmptyError is the error of an edit without old text, and SameError of one that changes nothing.
	EmptyError struct{}
	SameError  struct{}
)

func (EmptyError) Error() string { return "the text to replace is empty" }
func (SameError) Error() string  { return "the old and the new text are the same" }

// AmbiguousError is the error of a text with several occurrences.
type AmbiguousError struct {
	Count int   // how many, counting also those that overlap
	Lines []int // where they begin, the first few
	More  bool  // there are more lines
	How   MatchKind
}

func (e *AmbiguousError) Error() string { return fmt.Sprintf("the text appears %d times", e.Count) }

// MissError is the error of a text without occurrence.
type MissError struct{ Nearest []SimilarPlace }

func (*MissError) Error() string { return "the text is not there" }

// SimilarPlace is a part similar to the missing text.
type SimilarPlace struct {
	First, Last int // line numbers, from 1
	Lines       []string
}

// FindReplacements finds the text to replace. count is the number of occurrences from the first: 0 for all, or Unique.
func FindReplacements(s, old, new string, count int) (*Match, error) {
	if old == "" {
		return nil, EmptyError{}
	}
	if old == new {
		return nil, SameError{}
	}
	if f, err := findExact(s, old, new, count); f != nil || err != nil {
		return f, err
	}
	if spans := findOtherEndings(s, old, new); len(spans) > 0 {
		return requireSingle(s, spans, LineEndings)
	}
	if spans := findReindented(s, old, new); len(spans) > 0 {
		return requireSingle(s, spans, Indentation)
	}
	return nil, &MissError{Nearest: nearestPlaces(s, old)}
}

// findExact finds a text byte for byte.
func findExact(s, old, new string, count int) (*Match, error) {
	first := strings.Index(s, old)
	if first < 0 {
		return nil, nil
	}
	if count == Unique {
		if n, lines := findOccurrences(s, old); n > 1 {
			return nil, &AmbiguousError{Count: n, Lines: lines[:min(len(lines), maxReportedLines)], More: len(lines) > maxReportedLines}
		}
		count = 1
	}
	f := &Match{}
	for at := first; count == 0 || len(f.Splices) < count; {
		f.Splices = append(f.Splices, Splice{at, at + len(old), matchEnding(s, old, new, at)})
		next := strings.Index(s[at+len(old):], old)
		if next < 0 {
			break
		}
		at += len(old) + next
	}
	return f, nil
}

// matchEnding gives new text the line ending of the replaced text, or of the line around it.
func matchEnding(s, old, new string, at int) string {
	if strings.Contains(old, "\n") {
		if strings.Contains(old, "\r\n") {
			return text.WithEndings(new, "\r\n")
		}
		return new
	}
	return text.WithEndings(new, text.EndingNear(s, at))
}

// maxReportedLines limits the reported lines of an ambiguous text.
const maxReportedLines = 10

// findOccurrences counts occurrences, including overlapping ones: "aa" is twice in "aaa", so not unique.
func findOccurrences(s, old string) (n int, lines []int) {
	line, counted := 1, 0
	for at := 0; ; at++ {
		next := strings.Index(s[at:], old)
		if next < 0 {
			return n, lines
		}
		at += next
		if n++; len(lines) <= maxReportedLines {
			line += strings.Count(s[counted:at], "\n")
			counted = at
			if len(lines) == 0 || lines[len(lines)-1] != line {
				lines = append(lines, line)
			}
		}
	}
}

// requireSingle returns a single place, and an error for several.
func requireSingle(s string, spans []Splice, how MatchKind) (*Match, error) {
	if len(spans) == 1 {
		return &Match{Splices: spans, How: how}, nil
	}
	e := &AmbiguousError{Count: len(spans), How: how, More: len(spans) > maxReportedLines}
	for _, span := range spans[:min(len(spans), maxReportedLines)] {
		e.Lines = append(e.Lines, text.LineAt(s, span.From))
	}
	return nil, e
}

// findOtherEndings finds places that differ only in line endings.
func findOtherEndings(s, old, new string) []Splice {
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
		if end, ok := matchesAt(s, old, at); ok && !inEnding {
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

// matchesAt compares at one place; a newline matches either line ending.
func matchesAt(s, old string, at int) (end int, ok bool) {
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
