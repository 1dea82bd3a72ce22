// Package replace finds the text that an edit replaces.
//
// The text must match exactly, or differ only in line endings, or only in the unit of indentation. A match that is
// not exact must be the only one. Without a match, the error lists the most similar places.
//
// The package works on strings and must not know of files or tools.
package replace

import (
	"fmt"
	"strings"

	"github.com/picoclaw/picoclaw/plugins/filesystem/internal/text"
)

// MatchKind is the difference between the old text and the text that matched.
type MatchKind string

// The kinds of matches.
const (
	Exactly     MatchKind = ""
	LineEndings MatchKind = "line_endings" // it differs in line endings
	Indentation MatchKind = "indentation"  // it differs in the unit of indentation
)

// OnlyOccurrence as a count requires that the old text occurs exactly once.
const OnlyOccurrence = -1

// RangeReplacement replaces a range of a text.
type RangeReplacement struct {
	From, To int
	New      string
}

// Replacements is the result of a search: the ranges to replace and their texts.
type Replacements struct {
	Splices []RangeReplacement // in the order of the text, none overlapping another
	How     MatchKind
}

type (
	// EmptyTextError is the error of an edit without old text, and SameTextError of one that changes nothing.
	EmptyTextError struct{}
	SameTextError  struct{}
)

func (EmptyTextError) Error() string { return "the text to replace is empty" }
func (SameTextError) Error() string  { return "the old and the new text are the same" }

// AmbiguousMatchError is the error for old text that occurs several times.
type AmbiguousMatchError struct {
	Count int   // how many, counting also those that overlap
	Lines []int // where they begin, the first few
	More  bool  // there are more lines
	How   MatchKind
}

func (e *AmbiguousMatchError) Error() string {
	return fmt.Sprintf("the text appears %d times", e.Count)
}

// TextNotFoundError is the error for old text that does not occur, with the most similar places.
type TextNotFoundError struct{ Nearest []SimilarLines }

func (*TextNotFoundError) Error() string { return "the text does not occur" }

// SimilarLines is a range of lines similar to the old text.
type SimilarLines struct {
	First, Last int // line numbers, from 1
	Lines       []string
}

// FindReplacements finds the ranges of old in s. If no range is equal to old, it accepts a single range with other line
// endings or another unit of indentation. count limits the number of ranges: 0 for all, or OnlyOccurrence.
func FindReplacements(s, old, new string, count int) (*Replacements, error) {
	if old == "" {
		return nil, EmptyTextError{}
	}
	if old == new {
		return nil, SameTextError{}
	}
	if f, err := findExact(s, old, new, count); f != nil || err != nil {
		return f, err
	}
	if spans := findIgnoringLineEndings(s, old, new); len(spans) > 0 {
		return requireSingleMatch(s, spans, LineEndings)
	}
	if spans := findReindented(s, old, new); len(spans) > 0 {
		return requireSingleMatch(s, spans, Indentation)
	}
	return nil, &TextNotFoundError{Nearest: findSimilarPlaces(s, old)}
}

// findExact finds the ranges that equal old.
func findExact(s, old, new string, count int) (*Replacements, error) {
	first := strings.Index(s, old)
	if first < 0 {
		return nil, nil
	}
	if count == OnlyOccurrence {
		if n, lines := countOccurrences(s, old); n > 1 {
			return nil, &AmbiguousMatchError{Count: n, Lines: lines[:min(len(lines), maxReportedLines)], More: len(lines) > maxReportedLines}
		}
		count = 1
	}
	f := &Replacements{}
	for at := first; count == 0 || len(f.Splices) < count; {
		f.Splices = append(f.Splices, RangeReplacement{at, at + len(old), adaptLineEndings(s, old, new, at)})
		next := strings.Index(s[at+len(old):], old)
		if next < 0 {
			break
		}
		at += len(old) + next
	}
	return f, nil
}

// adaptLineEndings gives the new text the line ending of the replaced text, or of the line around it.
func adaptLineEndings(s, old, new string, at int) string {
	if strings.Contains(old, "\n") {
		if strings.Contains(old, "\r\n") {
			return text.ConvertLineEndings(new, "\r\n")
		}
		return new
	}
	return text.ConvertLineEndings(new, text.LineEndingAt(s, at))
}

// maxReportedLines limits the line numbers in an AmbiguousMatchError.
const maxReportedLines = 10

// countOccurrences returns the number and lines of occurrences, including overlapping ones: "aa" is twice in "aaa".
func countOccurrences(s, old string) (n int, lines []int) {
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

// requireSingleMatch returns a match of a single range, or an error for several.
func requireSingleMatch(s string, spans []RangeReplacement, how MatchKind) (*Replacements, error) {
	if len(spans) == 1 {
		return &Replacements{Splices: spans, How: how}, nil
	}
	e := &AmbiguousMatchError{Count: len(spans), How: how, More: len(spans) > maxReportedLines}
	for _, span := range spans[:min(len(spans), maxReportedLines)] {
		e.Lines = append(e.Lines, text.LineNumberAt(s, span.From))
	}
	return nil, e
}

// findIgnoringLineEndings finds the ranges that differ from old in line endings only.
func findIgnoringLineEndings(s, old, new string) []RangeReplacement {
	if !strings.Contains(old, "\n") || (!strings.Contains(s, "\r\n") && !strings.Contains(old, "\r\n")) {
		return nil
	}
	old = strings.ReplaceAll(old, "\r\n", "\n")
	anchor, _, _ := strings.Cut(old, "\n")
	var found []RangeReplacement
	for at := 0; at <= len(s); {
		next := strings.Index(s[at:], anchor)
		if next < 0 {
			break
		}
		at += next
		inEnding := at > 0 && at < len(s) && s[at-1] == '\r' && s[at] == '\n' // no place to begin at
		if end, ok := matchAtIgnoringLineEndings(s, old, at); ok && !inEnding {
			ending := "\n"
			if strings.Contains(s[at:end], "\r\n") {
				ending = "\r\n"
			}
			found = append(found, RangeReplacement{at, end, text.ConvertLineEndings(strings.ReplaceAll(new, "\r\n", "\n"), ending)})
		}
		at++
	}
	return found
}

// matchAtIgnoringLineEndings reports whether s has old at an offset, where a newline matches either line ending, and
// returns the end of the match.
func matchAtIgnoringLineEndings(s, old string, at int) (end int, ok bool) {
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
