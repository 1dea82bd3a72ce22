// Package prompt reads lines from a terminal, with history and completion, or from another stream.
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
)

// Completions are the completions of a line's last word.
type Completions struct {
	Last  string   // the word at its end
	Words []string // possible completions of Last
	Whole bool     // a proposal is a whole word: a space follows it
}

// LineReader reads lines from a terminal with history and completion, or from another stream.
type LineReader struct {
	plain    *bufio.Reader  // for other streams than a terminal
	fd       int            // of the terminal
	screen   *term.Terminal // nil for other streams
	before   *term.State    // of the terminal, while it is raw
	history  *lineHistory
	complete func(line string) Completions
}

// NewLineReader returns a reader. History and completion work only if in and out are terminals.
func NewLineReader(in io.Reader, out io.Writer, historyFile string, complete func(line string) Completions) *LineReader {
	r := &LineReader{complete: complete}
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
	r.screen.AutoCompleteCallback = r.completeOnTab
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

// completeOnTab completes the word before the cursor when the Tab key is pressed, or lists the completions.
func (r *LineReader) completeOnTab(line string, at int, key rune) (string, int, bool) {
	if key != '\t' {
		return "", 0, false
	}
	found := r.complete(line[:at])
	var fits []string
	for _, word := range found.Words {
		if strings.HasPrefix(word, found.Last) {
			fits = append(fits, word)
		}
	}
	if len(fits) == 0 {
		return line, at, true
	}
	more := strings.TrimPrefix(commonPrefix(fits), found.Last)
	if len(fits) == 1 && found.Whole {
		more += " "
	}
	if more == "" && len(fits) > 1 {
		_, _ = r.screen.Write([]byte(strings.Join(fits, "  ") + "\n"))
	}
	return line[:at] + more + line[at:], at + len(more), true
}

// commonPrefix returns the longest prefix that all words have.
func commonPrefix(words []string) string {
	prefix := words[0]
	for _, word := range words[1:] {
		for !strings.HasPrefix(word, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return strings.ToValidUTF8(prefix, "")
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
