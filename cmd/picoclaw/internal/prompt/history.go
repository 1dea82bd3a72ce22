package prompt

import (
	"os"
	"strings"

	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

// mostKept is how many lines are kept.
const mostKept = 1000

// lineHistory has the earlier lines, stored in a private file. Errors of the file are ignored.
type lineHistory struct {
	path  string
	lines []string // the oldest first
	pause bool     // what is typed now is an answer, not a line
}

func openHistory(path string) *lineHistory {
	h := &lineHistory{path: path}
	text, err := os.ReadFile(path)
	if err != nil {
		return h
	}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			h.lines = append(h.lines, line)
		}
	}
	if len(h.lines) > 2*mostKept {
		h.lines = h.lines[len(h.lines)-mostKept:]
		_ = atomicfile.WriteFile(h.path, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h
}

// Add keeps a line, unless it is the same as the last, begins with a space, or seems to have a secret in it.
func (h *lineHistory) Add(line string) {
	kept := strings.TrimSpace(line)
	if h.pause || kept == "" || strings.HasPrefix(line, " ") || redact.RedactText(line) != line || h.Len() > 0 &&
		h.At(0) == kept {
		return
	}
	h.lines = append(h.lines, kept)
	f, err := os.OpenFile(h.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return
	}
	_, _ = f.WriteString(kept + "\n")
	_ = f.Close()
}

// Len returns how many lines there are.
func (h *lineHistory) Len() int { return len(h.lines) }

// At returns a line, 0 being the last.
func (h *lineHistory) At(i int) string { return h.lines[len(h.lines)-1-i] }
