package inline

import (
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// literal is a string literal in code.
type literal struct {
	text       string // the string; computed parts are shell.Unknown
	isWordList bool   // a list of words such as %w(…)
	isCommand  bool   // a command such as qx(…)
}

// readLiteral reads the string literal that begins at i, and returns its length in bytes; 0 if none begins there.
func (s *scanner) readLiteral(i int) (literal, int) {
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
		return literal{}, 0
	}
	mark := code[prefix]
	if l.TripleQuotes && strings.HasPrefix(code[prefix:], strings.Repeat(string(mark), 3)) {
		body := code[prefix+3:]
		end := strings.Index(body, strings.Repeat(string(mark), 3))
		if end < 0 {
			return literal{text: body}, len(code)
		}
		return literal{text: s.maskComputed(body[:end], code[:prefix], mark)}, prefix + end + 6
	}
	raw := strings.ContainsAny(code[:prefix], "rR")
	text, n := unquote(code[prefix:], mark)
	if raw {
		text = strings.TrimSuffix(code[prefix+1:prefix+n], string(mark))
	}
	return literal{text: s.maskComputed(text, code[:prefix], mark)}, prefix + n
}

// maskComputed replaces the computed parts of a string literal by shell.Unknown, unless its prefix or quote turns
// interpolation off.
func (s *scanner) maskComputed(text, prefix string, mark byte) string {
	interpolates := s.language.Prefixes == "" || strings.ContainsAny(prefix, "fF")
	if !interpolates || strings.IndexByte(s.language.RawQuotes, mark) >= 0 {
		return text
	}
	return s.maskVariables(text)
}

// maskVariables replaces interpolated variables in a text by shell.Unknown.
func (s *scanner) maskVariables(text string) string {
	if s.language.interpolationPattern == nil {
		return text
	}
	return s.language.interpolationPattern.ReplaceAllString(text, shell.Unknown)
}

// readQuoteOperator reads a string of Perl or Ruby such as q(…), qx{…} or %w[…].
func (s *scanner) readQuoteOperator(i int) (literal, int) {
	code := s.code[i:]
	if i > 0 && isNamePart(s.code[i-1]) {
		return literal{}, 0
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
			return literal{}, 0
		}
		text := rest[1 : 1+end]
		if prefix != "q" && prefix != "%q" {
			text = s.maskVariables(text)
		}
		lit := literal{text: text, isWordList: prefix[1:] == "w", isCommand: prefix[1:] == "x"}
		return lit, len(prefix) + end + 2
	}
	return literal{}, 0
}

// unquote returns the string between the quote at the start of code and the next unescaped one, with escapes
// resolved, and its length including both quotes.
func unquote(code string, quote byte) (string, int) {
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

// decodeEscape returns the character of an escape sequence, and how many bytes follow its first.
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
