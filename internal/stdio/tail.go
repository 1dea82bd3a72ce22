package stdio

import (
	"strings"
	"sync"
	"unicode"
)

// Tail is a writer that keeps the last bytes written to it. It may be used concurrently.
type Tail struct {
	most int // bytes
	mu   sync.Mutex
	data []byte
}

// NewTail makes one that keeps at most so many bytes.
func NewTail(most int) *Tail { return &Tail{most: most} }

// Write keeps the end of what has been written until now.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - t.most; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// Text returns what is kept, and whether that is as much as may be: its beginning may be missing.
func (t *Tail) Text() (text string, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data), len(t.data) == t.most
}

// Words are the beginning of what a program has said, without what a terminal would take for a command.
func Words(text string, most int) string {
	text = strings.TrimSpace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD")))
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " …"
	}
	return text
}
