// Package hiddentext finds and escapes characters that a reader can't see or sees in another position: control
// characters, direction marks and zero-width characters. With them, a person could approve another text than the one
// used.
package hiddentext

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// IsHidden reports whether a reader can't see r. Line ends and tabs are not hidden.
func IsHidden(r rune) bool {
	return r != '\n' && r != '\t' && r != '\r' && unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl,
		unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// Escape replaces hidden characters by Go escapes such as \u200b. Bytes that are not UTF-8 become U+FFFD.
func Escape(text string) string {
	return EscapeFunc(text, func(r rune) string { return strings.Trim(strconv.QuoteRuneToASCII(r), "'") })
}

// EscapeFunc replaces each hidden character by the result of escape.
func EscapeFunc(text string, escape func(rune) string) string {
	if !strings.ContainsFunc(text, IsHidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if IsHidden(r) {
			b.WriteString(escape(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// QuoteUnprintable returns a name for a line of output. It quotes a name with characters that could forge another line or hide
// something.
func QuoteUnprintable(name string) string {
	if strings.ContainsFunc(name, IsUnprintable) {
		return strconv.Quote(name)
	}
	return name
}

// IsUnprintable reports whether a character could forge another line of output or hide something.
func IsUnprintable(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
