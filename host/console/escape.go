package console

import (
	"fmt"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// escapeHiddenCharacters escapes invisible characters in a whole page.
func escapeHiddenCharacters(page []byte) []byte {
	return []byte(hiddentext.EscapeFunc(string(page), func(r rune) string { return fmt.Sprintf("⟪U+%04X⟫", r) }))
}
