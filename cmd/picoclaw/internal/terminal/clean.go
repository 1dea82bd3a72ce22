package terminal

import (
	"strings"
	"unicode"
)

// Line returns text as it can stand in one line of a terminal: control characters, and those that turn the direction of
// writing, are replaced.
func Line(text string) string {
	return clean(strings.NewReplacer("\n", " ", "\t", " ", "\r", " ").Replace(text))
}

// Clean returns text as it can be shown on a terminal, where what an agent has written, or the name of a file, could
// otherwise move the cursor, change the title or type for the person. What goes elsewhere is left as it is.
func (o *Out) Clean(text string) string {
	if !o.IsTerminal() {
		return text
	}
	return clean(text)
}

func clean(text string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return '\uFFFD'
		}
		return r
	}, text)
}
