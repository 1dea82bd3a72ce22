package shell

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The bounds of what is interpreted. What goes beyond them is refused unread.
const (
	MaxText    = 16 << 10     // bytes of a command
	MaxNesting = 64           // brackets open at once, and code within code
	maxCode    = 16 * MaxText // bytes of the text and all code within it
	maxSteps   = 4096         // simple commands and loop rounds
	maxFields  = 2048         // words that one word may expand to
	maxStarts  = 16           // commands that start one another
	maxDir     = 1 << 10      // bytes of a directory; one that is longer isn't known
	maxStars   = 16           // stars in the pattern of an expansion
	maxBraces  = 64           // braces in one word
	wordCost   = 32           // bytes that a word counts for beside its own
	maxRounds  = 64           // values of a loop that are followed one by one
	maxValue   = 4 << 10      // bytes of a variable; one that is longer isn't known
	maxWords   = 1 << 20      // bytes of all arguments of all commands
)

// Check says why a text must not even be parsed, or nil: it is too long, nested too deeply, or holds characters that
// make a person and a shell read different things.
func Check(text string) *Problem {
	if len(text) > MaxText {
		return &Problem{Kind: TooLong, Place: &Place{}, Reason: fmt.Sprintf("the command is %d bytes long; the limit is %d",
			len(text), MaxText)}
	}
	depth := 0
	for i, r := range text {
		switch {
		case r == '(' || r == '{':
			if depth++; depth > MaxNesting {
				return problemAt(text, i, TooComplex, fmt.Sprintf("the command is nested more than %d deep", MaxNesting))
			}
		case (r == ')' || r == '}') && depth > 0:
			depth--
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			return problemAt(text, i, Malformed, "the command is not valid UTF-8")
		case r < ' ' && r != '\t' && r != '\n', r == 0x7f:
			return problemAt(text, i, Malformed, fmt.Sprintf("the command contains the control character %U", r))
		case hidden(r):
			return problemAt(text, i, Malformed, fmt.Sprintf("the command contains the invisible character %U", r))
		}
	}
	return nil
}

// hidden reports whether a rune has no glyph or reorders the text around it. The zero-width joiner stays allowed: emoji
// are made with it, and a shell takes it for a letter, as a reader would.
func hidden(r rune) bool {
	switch {
	case r == 0x00AD, r == 0x061C, r == 0x180E, r == 0xFEFF,
		r == 0x200B, r == 0x200C, r == 0x200E, r == 0x200F,
		r >= 0x2028 && r <= 0x202E, r >= 0x2060 && r <= 0x206F,
		r >= 0xFDD0 && r <= 0xFDEF, r >= 0xE0000 && r <= 0xE007F:
		return true
	}
	return false
}

func problemAt(text string, offset int, kind Kind, reason string) *Problem {
	p := NewPlace(text, offset, offset+1, "")
	span := p.Span()
	return &Problem{Kind: kind, Place: p, Reason: fmt.Sprintf("%s (line %d, column %d)", reason, span.Line, span.Column)}
}
