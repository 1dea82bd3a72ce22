package console

import (
	"fmt"

	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// escapeHidden escapes hidden characters in a whole page.
func escapeHidden(page []byte) []byte {
	return []byte(hiddentext.EscapeFunc(string(page), func(r rune) string { return fmt.Sprintf("⟪U+%04X⟫", r) }))
}
