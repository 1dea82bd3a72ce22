package shell

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the interpretation. A command beyond a limit is refused.
const (
	MaxText          = 16 << 10     // bytes of a command
	MaxNesting       = 64           // brackets open at once, and levels of nested code
	maxCode          = 16 * MaxText // bytes of the text and all nested code
	maxSteps         = 4096         // simple commands and loop rounds
	maxFields        = 2048         // words that one word may expand to
	maxCommandChain  = 16           // commands that start one another
	maxDir           = 1 << 10      // bytes of a directory path; a longer one is unknown
	starDivisor      = 16           // the squared number of stars in a pattern, divided by this, multiplies its cost
	maxBraces        = 64           // braces in one word
	wordOverhead     = 32           // bytes added to the length of each word
	maxLoopValues    = 64           // values of a loop that are interpreted one by one
	maxValue         = 4 << 10      // bytes of a variable; a longer value is unknown
	maxArgumentBytes = 1 << 20      // bytes of all arguments of all commands
)

// CheckCommandText returns a problem if a text must not be parsed, or nil. The text may be too long, nested too deeply,
// or contain characters that look different to a person and a shell.
func CheckCommandText(text string) *AnalysisProblem {
	if len(text) > MaxText {
		return &AnalysisProblem{Kind: TooLong, Location: &CommandLocation{}, Reason: fmt.Sprintf("the command is %d bytes long; the limit is %d",
			len(text), MaxText)}
	}
	depth, formatted := 0, false
	for i, r := range text {
		switch {
		case r == '(' || r == '{':
			if depth++; depth > MaxNesting {
				return newProblemAt(text, i, TooComplex, fmt.Sprintf("the command is nested more than %d deep", MaxNesting))
			}
		case (r == ')' || r == '}') && depth > 0:
			depth--
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			return newProblemAt(text, i, Malformed, "the command is not valid UTF-8")
		case r < ' ' && r != '\t' && r != '\n', r == 0x7f:
			return newProblemAt(text, i, Malformed, fmt.Sprintf("the command contains the control character %U", r))
		case isInvisibleRune(r):
			return newProblemAt(text, i, Malformed, fmt.Sprintf("the command contains the invisible character %U", r))
		case isFormatRune(r):
			formatted = true
		}
	}
	if formatted {
		if at := findMisplacedFormatRune(text); at >= 0 {
			r, _ := utf8.DecodeRuneInString(text[at:])
			return newProblemAt(text, at, Malformed, fmt.Sprintf("the command contains the invisible character %U", r))
		}
	}
	return nil
}

// isInvisibleRune reports whether a rune has no glyph, or reorders the surrounding text, and does not occur in ordinary
// text.
func isInvisibleRune(r rune) bool {
	switch {
	case r == 0x180E, r == 0xFEFF, r == 0x200B,
		r >= 0x2028 && r <= 0x202E, r >= 0x2060 && r <= 0x206F,
		r >= 0xFDD0 && r <= 0xFDEF, r >= 0xE0000 && r <= 0xE007F:
		return true
	}
	return false
}

// isFormatRune reports whether a rune has no glyph but occurs in ordinary text: joiners of Persian and emoji,
// directional marks of Arabic and Hebrew, and the soft hyphen. The shell treats it as a letter.
func isFormatRune(r rune) bool {
	switch r {
	case 0x00AD, 0x061C, 0x200C, 0x200D, 0x200E, 0x200F:
		return true
	}
	return false
}

// findMisplacedFormatRune returns the offset of the first format rune in a program name, option or plain path, or -1.
// Words and quotations in natural language may contain format runes: those with visible characters beyond ASCII, and
// quotations of several words.
func findMisplacedFormatRune(text string) int {
	var quote rune // 0 outside quotes
	begin, first := 0, -1
	misplaced := func(end int) bool {
		unit := text[begin:end]
		return first >= 0 && !strings.ContainsFunc(unit, isVisibleNonASCII) &&
			(quote == 0 || len(strings.Fields(unit)) < 2 || quote == '"' && strings.ContainsAny(unit, "$`"))
	}
	escaped := false
	for i, r := range text {
		switch {
		case escaped:
			escaped = false
		case r == '\\' && quote != '\'':
			escaped = true
		case isFormatRune(r):
			if first < 0 {
				first = i
			}
		case quote == 0 && strings.ContainsRune(" \t\n;&|<>()'\"", r), r == quote:
			if misplaced(i) {
				return first
			}
			begin, first = i+1, -1
			switch {
			case r == quote:
				quote = 0
			case r == '\'' || r == '"':
				quote = r
			}
		}
	}
	if misplaced(len(text)) {
		return first
	}
	return -1
}

// isVisibleNonASCII reports whether a rune is a visible character beyond ASCII.
func isVisibleNonASCII(r rune) bool {
	return r > 0x7F && unicode.In(r, unicode.L, unicode.M, unicode.N, unicode.S)
}

// newProblemAt returns a problem at a byte offset of a text.
func newProblemAt(text string, offset int, kind AnalysisProblemKind, reason string) *AnalysisProblem {
	p := NewLocation(text, offset, offset+1, "")
	span := p.Span()
	return &AnalysisProblem{Kind: kind, Location: p, Reason: fmt.Sprintf("%s (line %d, column %d)", reason, span.Line, span.Column)}
}
