package lang

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// quotedText returns what stands between quote and the next unescaped quote, escapes resolved, and its length with
// both quotes.
func quotedText(s string, quote byte) (string, int) { return unescaped(s, quote, 8) }

// unescaped is quotedText for a language whose characters by number are octal, or decimal; 0 if it has no characters by number.
func unescaped(s string, quote byte, base int) (string, int) {
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			if i++; i < len(s) {
				if r, n := numbered(s[i:], base); n > 0 {
					b.WriteRune(r)
					i += n - 1
					continue
				}
				switch s[i] {
				case '\n': // the string goes on in the next line
				case 'n':
					b.WriteByte('\n')
				case 't':
					b.WriteByte('\t')
				default:
					b.WriteByte(s[i])
				}
			}
		case quote:
			return b.String(), i + 1
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), len(s)
}

// numbered is the character that stands behind a backslash as its number, and how long that is: x2f, u002f, u{2f}, 057.
func numbered(s string, base int) (rune, int) {
	if base == 0 {
		return 0, 0
	}
	skip, most := 1, 0
	switch s[0] {
	case 'N':
		close := strings.IndexByte(s, '}')
		if len(s) < 4 || s[1] != '{' || close < 0 {
			return 0, 0
		}
		if code, ok := strings.CutPrefix(s[2:close], "U+"); ok {
			if n, err := strconv.ParseInt(code, 16, 32); err == nil && n > 0 && n <= utf8.MaxRune {
				return rune(n), close + 1
			}
			return 0, 0
		}
		return characterOf(s[2:close]), close + 1
	case 'x':
		most = 2
	case 'u':
		most = 4
	case 'U':
		most = 8
	case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
		skip, most = 0, 3
	default:
		return 0, 0
	}
	if skip == 1 {
		base = 16
	}
	digits := s[skip:]
	end := 0
	if skip == 1 && strings.HasPrefix(digits, "{") {
		close := strings.IndexByte(digits, '}')
		if close < 0 || close > 8 {
			return 0, 0
		}
		digits, end = digits[1:close], close+1
	} else {
		for end < len(digits) && end < most && isDigit(digits[end], base) {
			end++
		}
		digits = digits[:end]
	}
	if len(digits) < 2 && skip == 0 {
		return 0, 0 // rather what a group of a pattern matched
	}
	code, err := strconv.ParseInt(digits, base, 32)
	if err != nil || code == 0 || code > utf8.MaxRune {
		return 0, 0
	}
	return rune(code), skip + end
}

func isDigit(c byte, base int) bool {
	_, err := strconv.ParseUint(string(c), base, 8)
	return err == nil
}

// escapes is the base of characters by number in strings of a language with a quote, for [unescaped].
func escapes(language string, quote byte, prefix string) int {
	switch {
	case language == "lua":
		return 10
	case language == "python" && (strings.HasSuffix(prefix, "r") || strings.HasSuffix(prefix, "R")),
		quote == '\'' && (language == "perl" || language == "ruby" || language == "php"):
		return 0
	}
	return 8
}
