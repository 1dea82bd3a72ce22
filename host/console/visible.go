package console

import (
	"bytes"
	"fmt"
	"unicode"
)

// visible spells out what nobody sees in a page, or sees elsewhere than it is: characters that control, turn the
// direction of writing, or have no width. What somebody says yes to would otherwise read like something else. It looks
// at whole pages, so that none can forget it.
func visible(page []byte) []byte {
	if bytes.IndexFunc(page, hidden) < 0 {
		return page
	}
	var out bytes.Buffer
	for _, r := range string(page) {
		if hidden(r) {
			fmt.Fprintf(&out, "⟪U+%04X⟫", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.Bytes()
}

func hidden(r rune) bool {
	return r != '\n' && r != '\t' && r != '\r' && unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Zl,
		unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
