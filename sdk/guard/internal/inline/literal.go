package inline

import (
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// stringLiteral is a string literal in code.
type stringLiteral struct {
	text       string // the string, with shell.Unknown for computed parts
	isWordList bool   // a list of words such as %w(…)
	isCommand  bool   // a command such as qx(…)
}

// readStringLiteral reads the string literal at i, and returns its length in bytes. The length is 0 if none begins
// there.
func (s *callScanner) readStringLiteral(i int) (stringLiteral, int) {
	l, code := s.language, s.code[i:]
	if l.QuoteOperators {
		if lit, n := s.readQuoteOperator(i); n > 0 {
			return lit, n
		}
	}
	prefix := 0
	for prefix < 2 && prefix < len(code) && code[prefix]|0x20 != '`' && strings.IndexByte(l.Prefixes,
		code[prefix]|0x20) >= 0 {
		prefix++
	}
	if prefix >= len(code) || strings.IndexByte(l.Quotes, code[prefix]) < 0 || prefix > 0 && i > 0 &&
		isNamePart(s.code[i-1]) {
		return stringLiteral{}, 0
	}
	mark := code[prefix]
	if l.TripleQuotes && strings.HasPrefix(code[prefix:], strings.Repeat(string(mark), 3)) {
		body := code[prefix+3:]
		end := strings.Index(body, strings.Repeat(string(mark), 3))
		if end < 0 {
			return stringLiteral{text: body}, len(code)
		}
		return stringLiteral{text: s.maskComputedParts(body[:end], code[:prefix], mark)}, prefix + end + 6
	}
	raw := strings.ContainsAny(code[:prefix], "rR")
	text, n := readQuotedString(code[prefix:], mark)
	if raw {
		text = strings.TrimSuffix(code[prefix+1:prefix+n], string(mark))
	}
	return stringLiteral{text: s.maskComputedParts(text, code[:prefix], mark)}, prefix + n
}

// maskComputedParts replaces interpolated parts of a string literal by shell.Unknown, unless its prefix or quote
// disables interpolation.
func (s *callScanner) maskComputedParts(text, prefix string, mark byte) string {
	interpolates := s.language.Prefixes == "" || strings.ContainsAny(prefix, "fF")
	if !interpolates || strings.IndexByte(s.language.RawQuotes, mark) >= 0 {
		return text
	}
	return s.maskInterpolations(text)
}

// maskInterpolations replaces interpolated variables in a text by shell.Unknown.
func (s *callScanner) maskInterpolations(text string) string {
	if s.language.interpolationPattern == nil {
		return text
	}
	return s.language.interpolationPattern.ReplaceAllString(text, shell.Unknown)
}

// readQuoteOperator reads a Perl or Ruby string such as q(…), qx{…} or %w[…].
func (s *callScanner) readQuoteOperator(i int) (stringLiteral, int) {
	code := s.code[i:]
	if i > 0 && isNamePart(s.code[i-1]) {
		return stringLiteral{}, 0
	}
	for _, prefix := range []string{"%w", "%x", "%q", "%Q", "qw", "qx", "qq", "q"} {
		rest, ok := strings.CutPrefix(code, prefix)
		if !ok || rest == "" || strings.IndexByte("({[</|!~", rest[0]) < 0 {
			continue
		}
		closing := rest[0]
		if at := strings.IndexByte("({[<", closing); at >= 0 {
			closing = ")}]>"[at]
		}
		end := strings.IndexByte(rest[1:], closing)
		if end < 0 {
			return stringLiteral{}, 0
		}
		text := rest[1 : 1+end]
		if prefix != "q" && prefix != "%q" {
			text = s.maskInterpolations(text)
		}
		lit := stringLiteral{text: text, isWordList: prefix[1:] == "w", isCommand: prefix[1:] == "x"}
		return lit, len(prefix) + end + 2
	}
	return stringLiteral{}, 0
}

// readQuotedString reads the string between the quote at the start of code and the next unescaped one. It resolves
// escapes and returns the length with both quotes.
func readQuotedString(code string, quote byte) (string, int) {
	var b strings.Builder
	for i := 1; i < len(code); i++ {
		switch code[i] {
		case '\\':
			if i++; i < len(code) {
				text, more := decodeEscape(code[i:])
				b.WriteString(text)
				i += more
			}
		case quote:
			return b.String(), i + 1
		default:
			b.WriteByte(code[i])
		}
	}
	return b.String(), len(code)
}

// decodeEscape decodes an escape sequence. It returns the character and the number of bytes after the first.
func decodeEscape(code string) (string, int) {
	digits := map[byte]int{'x': 2, 'u': 4}[code[0]]
	if end := 1 + digits; digits > 0 && end <= len(code) {
		if n, err := strconv.ParseUint(code[1:end], 16, 32); err == nil {
			return string(rune(n)), digits
		}
	}
	switch code[0] {
	case 'n':
		return "\n", 0
	case 't':
		return "\t", 0
	case '\n':
		return "", 0
	}
	return code[:1], 0
}
