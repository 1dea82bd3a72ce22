package supervise

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// tailBytes is how much of a plugin's standard error is kept to explain its end.
const tailBytes = 8 << 10

// tail is a writer that keeps the last bytes written to it.
type tail struct {
	mu   sync.Mutex
	data []byte
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - tailBytes; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// String returns what is kept, from the first whole line on. What a terminal would take for a command is spelled out:
// it ends up in front of people.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := string(t.data)
	if len(t.data) == tailBytes {
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
