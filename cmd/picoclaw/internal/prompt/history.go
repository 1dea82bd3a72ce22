package prompt

import (
	"os"
	"strings"

	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

// maxHistoryLines is the number of lines that remain when the history is shortened.
const maxHistoryLines = 1000

// lineHistory holds earlier lines and stores them in a private file. Errors of the file are ignored.
type lineHistory struct {
	path  string
	lines []string // the oldest first
	pause bool     // an answer is read now, which is not stored
}

// readAndTrimHistory reads the history file, and shortens it if it is too long.
func readAndTrimHistory(path string) *lineHistory {
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
	if len(h.lines) > 2*maxHistoryLines {
		h.lines = h.lines[len(h.lines)-maxHistoryLines:]
		_ = atomicfile.WriteFile(h.path, []byte(strings.Join(h.lines, "\n")+"\n"), 0o600)
	}
	return h
}

// Add appends a line. It skips repeated lines, lines that begin with a space, and lines that seem to contain a secret.
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

// At returns the line at an index; the latest has index 0.
func (h *lineHistory) At(i int) string { return h.lines[len(h.lines)-1-i] }
