package supervise

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/picoclaw/picoclaw/internal/stdio"
)

// tailBytes is how much of a plugin's standard error is kept to explain its end.
const tailBytes = 8 << 10

// tail keeps the last of what a plugin has said.
type tail struct{ *stdio.Tail }

func newTail() *tail { return &tail{stdio.NewTail(tailBytes)} }

// String returns what is kept, from the first whole line on. What a terminal would take for a command is spelled out:
// it ends up in front of people.
func (t *tail) String() string {
	text, full := t.Text()
	if full {
		if _, rest, found := strings.Cut(text, "\n"); found {
			text = rest
		}
	}
	return strings.TrimSpace(spelledOut(text, true))
}

// spelledOut writes what can't be seen as Go writes it in a string, but for line ends and tabs where there may be
// several lines.
func spelledOut(text string, lines bool) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(text, "\uFFFD") {
		if !unicode.IsPrint(r) && (!lines || r != '\n' && r != '\t') {
			b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}
