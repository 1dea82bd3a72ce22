package console

import (
	"fmt"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// visible escapes the hidden characters of a whole page, so that no part of it can forget to.
func visible(page []byte) []byte {
	return []byte(hiddentext.EscapeFunc(string(page), func(r rune) string { return fmt.Sprintf("⟪U+%04X⟫", r) }))
}
