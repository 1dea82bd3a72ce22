// Package prompt reads lines from a terminal, with history, or from another stream.
//
// It must not know the meaning of the lines.
package prompt

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

// LineReader reads lines from a terminal with history, or from another stream.
type LineReader struct {
	plain   *bufio.Reader  // for other streams than a terminal
	fd      int            // of the terminal
	screen  *term.Terminal // nil for other streams
	before  *term.State    // of the terminal, while it is raw
	history *lineHistory
}

// NewLineReader returns a reader. The history works only if in and out are terminals.
func NewLineReader(in io.Reader, out io.Writer, historyFile string) *LineReader {
	r := &LineReader{}
	stdin, isFile := in.(*os.File)
	stdout, too := out.(interface {
		io.Writer
		Fd() uintptr
	})
	if !isFile || !too || !term.IsTerminal(int(stdin.Fd())) || !term.IsTerminal(int(stdout.Fd())) {
		r.plain = bufio.NewReader(in)
		return r
	}
	r.fd = int(stdin.Fd())
	r.history = readAndTrimHistory(historyFile)
	r.screen = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&ctrlCTranslator{from: stdin}, stdout}, "")
	r.screen.History = r.history
	return r
}

// IsInteractive reports whether the lines come from a terminal.
func (r *LineReader) IsInteractive() bool { return r.screen != nil }

// ReadLine shows a prompt and reads a line; [io.EOF] after the last one. It returns when the context ends, and the
// reader can't be used after that.
func (r *LineReader) ReadLine(ctx context.Context, prompt string) (string, error) {
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := r.readLine(prompt)
		read <- answer{line, err}
	}()
	select {
	case a := <-read:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// ReadAnswer reads a line that is not added to the history.
func (r *LineReader) ReadAnswer(ctx context.Context, prompt string) (string, error) {
	if r.history != nil {
		r.history.pause = true
		defer func() { r.history.pause = false }()
	}
	line, err := r.ReadLine(ctx, prompt)
	return strings.TrimSpace(line), err
}

// readLine reads a line from the terminal in raw mode, or from another stream.
func (r *LineReader) readLine(prompt string) (string, error) {
	if r.screen == nil {
		line, err := r.plain.ReadString('\n')
		if errors.Is(err, io.EOF) && line != "" {
			return line, nil
		}
		return line, err
	}
	state, err := term.MakeRaw(r.fd)
	if err != nil {
		return "", err
	}
	r.before = state
	defer r.RestoreTerminal()
	if width, height, err := term.GetSize(r.fd); err == nil && width > 0 {
		_ = r.screen.SetSize(width, height) // it redraws nothing here, and so can't fail
	}
	r.screen.SetPrompt(prompt)
	return r.screen.ReadLine()
}

// RestoreTerminal ends the raw mode of the terminal.
func (r *LineReader) RestoreTerminal() {
	if r.before != nil {
		_ = term.Restore(r.fd, r.before)
	}
}

// ctrlCTranslator passes typed keys on, with Ctrl-C replaced by Ctrl-E Ctrl-U, which clear the line. The terminal
// package would treat Ctrl-C as the end of the input.
type ctrlCTranslator struct {
	from    io.Reader
	waiting []byte
}

func (k *ctrlCTranslator) Read(p []byte) (int, error) {
	if len(k.waiting) == 0 {
		n, err := k.from.Read(p[:max(len(p)/2, 1)])
		if err != nil {
			return n, err
		}
		for _, b := range p[:n] {
			if b == 0x03 {
				k.waiting = append(k.waiting, 0x05, 0x15)
			} else {
				k.waiting = append(k.waiting, b)
			}
		}
	}
	n := copy(p, k.waiting)
	k.waiting = k.waiting[n:]
	return n, nil
}

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
