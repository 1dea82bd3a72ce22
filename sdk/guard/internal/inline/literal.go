package inline

import (
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/sdk/guard/internal/shell"
)

// literal is a string in code.
type literal struct {
	text    string // with a mark for the parts that are computed
	words   bool   // it is a list of words, as %w(…)
	command bool   // it is a command, as qx(…)
}

// literal reads the string that begins at i, and returns its length in the code; 0 if none begins there.
func (s *scanner) literal(i int) (literal, int) {
	l, code := s.language, s.code[i:]
	if l.Words {
		if lit, n := s.operator(i); n > 0 {
			return lit, n
		}
	}
	prefix := 0
	for prefix < 2 && prefix < len(code) && code[prefix]|0x20 != '`' && strings.IndexByte(l.Prefixes,
		code[prefix]|0x20) >= 0 {
		prefix++
	}
	if prefix >= len(code) || strings.IndexByte(l.Quotes, code[prefix]) < 0 || prefix > 0 && i > 0 &&
		namePart(s.code[i-1]) {
		return literal{}, 0
	}
	mark := code[prefix]
	if l.Triple && strings.HasPrefix(code[prefix:], strings.Repeat(string(mark), 3)) {
		body := code[prefix+3:]
		end := strings.Index(body, strings.Repeat(string(mark), 3))
		if end < 0 {
			return literal{text: body}, len(code)
		}
		return literal{text: s.replaced(body[:end], code[:prefix], mark)}, prefix + end + 6
	}
	raw := strings.ContainsAny(code[:prefix], "rR")
	text, n := quoted(code[prefix:], mark)
	if raw {
		text = strings.TrimSuffix(code[prefix+1:prefix+n], string(mark))
	}
	return literal{text: s.replaced(text, code[:prefix], mark)}, prefix + n
}

// replaced puts marks in the place of what is computed in a string.
func (s *scanner) replaced(text, prefix string, mark byte) string {
	formatted := s.language.Prefixes == "" || strings.ContainsAny(prefix, "fF")
	if !formatted || strings.IndexByte(s.language.Plain, mark) >= 0 {
		return text
	}
	return s.inserted(text)
}

// inserted puts marks in the place of the variables in a text.
func (s *scanner) inserted(text string) string {
	if s.language.inserts == nil {
		return text
	}
	return s.language.inserts.ReplaceAllString(text, shell.Unknown)
}

// operator reads a string of Perl or Ruby such as q(…), qx{…} or %w[…].
func (s *scanner) operator(i int) (literal, int) {
	code := s.code[i:]
	if i > 0 && namePart(s.code[i-1]) {
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
			text = s.inserted(text)
		}
		lit := literal{text: text, words: prefix[1:] == "w", command: prefix[1:] == "x"}
		return lit, len(prefix) + end + 2
	}
	return literal{}, 0
}

// quoted returns what stands between a quote and the next one that no backslash escapes, escapes resolved, and its
// length with both quotes.
func quoted(code string, quote byte) (string, int) {
	var b strings.Builder
	for i := 1; i < len(code); i++ {
		switch code[i] {
		case '\\':
			if i++; i < len(code) {
				text, more := escape(code[i:])
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

// escape returns what an escape stands for, and how many bytes it has beside its first.
func escape(code string) (string, int) {
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
