package shell

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The bounds of what is interpreted. What goes beyond them is refused unread.
const (
	MaxText    = 16 << 10 // bytes of a command
	MaxNesting = 64       // brackets open at once, and code within code
	maxSteps   = 4096     // simple commands and loop rounds
	maxFields  = 2048     // words that one word may expand to
	maxBraces  = 16       // brace expressions behind each other in one word
	maxStates  = 8        // ways the command can have gone, followed at once
	maxRounds  = 64       // values of a loop that are followed one by one
	maxValue   = 4 << 10  // bytes of a variable; one that is longer isn't known
	maxDir     = 1 << 10  // bytes of the working directory's path; one that is longer isn't known
	maxWork    = 1 << 20  // bytes of all arguments of all commands; an argument, or a variable that is copied, counts for perWord
	perWord    = 16
)

// plain are the ASCII characters that Check need not look at twice: all that are printed but brackets and braces.
var plain = func() (plain [utf8.RuneSelf]bool) {
	for c := ' '; c < 0x7f; c++ {
		plain[c] = !strings.ContainsRune("(){}", c)
	}
	plain['\t'], plain['\n'] = true, true
	return plain
}()

// Check says why a text must not even be parsed, or nil: it is too long, nested too deeply, or holds characters that
// make a person and a shell read different things.
func Check(text string) *Problem {
	if len(text) > MaxText {
		return &Problem{Kind: TooLong, Reason: fmt.Sprintf("the command is %d bytes long; the limit is %d", len(text), MaxText)}
	}
	depth := 0
	for i, r := range text {
		if r < utf8.RuneSelf && plain[r] {
			continue // nearly everything
		}
		switch {
		case r == '(' || r == '{':
			if depth++; depth > MaxNesting {
				return problemAt(text, i, TooComplex, fmt.Sprintf("the command is nested more than %d deep", MaxNesting))
			}
		case (r == ')' || r == '}') && depth > 0:
			depth--
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD"):
			return problemAt(text, i, Malformed, "the command is not valid UTF-8")
		case r == '\r':
			return problemAt(text, i, Malformed, "the command contains a carriage return: end its lines with line feeds alone")
		case r < ' ' && r != '\t' && r != '\n', r >= 0x7f && r < 0xa0:
			return problemAt(text, i, Malformed, fmt.Sprintf("the command contains the control character %U", r))
		case r > 0x7f && hidden(r):
			return problemAt(text, i, Malformed, fmt.Sprintf("the command contains the invisible character %U", r))
		}
	}
	return nil
}

// hidden says whether a rune has no glyph or reorders the text around it. The zero-width joiner stays allowed: emoji
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
	line := 1 + strings.Count(text[:offset], "\n")
	column := offset - strings.LastIndexByte(text[:offset], '\n')
	return &Problem{Kind: kind, Reason: fmt.Sprintf("%s (line %d, column %d)", reason, line, column),
		Span: Span{Start: offset, End: offset + 1, Line: line, Column: column}}
}
