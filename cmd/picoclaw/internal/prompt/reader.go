// Package prompt reads lines that a person types, with history and completion on a terminal, and plainly from anything
// else.
//
// It must not know what the lines mean.
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

// Proposals say how a line can go on.
type Proposals struct {
	Last  string   // the word at its end
	Words []string // what that may be the beginning of
	Whole bool     // a proposal is a whole word: a space follows it
}

// Reader reads lines.
type Reader struct {
	out      io.Writer
	plain    *bufio.Reader  // for what is no terminal
	fd       int            // of the terminal
	screen   *term.Terminal // nil for what is no terminal
	before   *term.State    // of the terminal, while it is raw
	history  *lineHistory
	complete func(line string) Proposals
}

// New returns a reader of lines. With terminals at both ends there are history, kept in a file, and completion.
func New(in io.Reader, out io.Writer, historyFile string, complete func(line string) Proposals) *Reader {
	r := &Reader{out: out, complete: complete}
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
	r.history = openHistory(historyFile)
	r.screen = term.NewTerminal(struct {
		io.Reader
		io.Writer
	}{&keyFilter{from: stdin}, stdout}, "")
	r.screen.History = r.history
	r.screen.AutoCompleteCallback = r.onKey
	return r
}

// Interactive reports whether a person is at the other end.
func (r *Reader) Interactive() bool { return r.screen != nil }

// Line reads a line; [io.EOF] after the last. It returns when the context ends; then the reader is of no use any more.
func (r *Reader) Line(ctx context.Context, prompt string) (string, error) {
	type answer struct {
		line string
		err  error
	}
	read := make(chan answer, 1)
	go func() {
		line, err := r.readTerminalLine(prompt)
		read <- answer{line, err}
	}()
	select {
	case a := <-read:
		return a.line, a.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Ask reads a line that is not kept in the history.
func (r *Reader) Ask(ctx context.Context, prompt string) (string, error) {
	if r.history != nil {
		r.history.pause = true
		defer func() { r.history.pause = false }()
	}
	line, err := r.Line(ctx, prompt)
	return strings.TrimSpace(line), err
}

func (r *Reader) readTerminalLine(prompt string) (string, error) {
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
	defer r.Close()
	if width, height, err := term.GetSize(r.fd); err == nil && width > 0 {
		_ = r.screen.SetSize(width, height) // it redraws nothing here, and so can't fail
	}
	r.screen.SetPrompt(prompt)
	return r.screen.ReadLine()
}

// Close leaves the terminal as it was.
func (r *Reader) Close() {
	if r.before != nil {
		_ = term.Restore(r.fd, r.before)
	}
}

// onKey completes the word before the cursor when Tab is pressed.
func (r *Reader) onKey(line string, at int, key rune) (string, int, bool) {
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

// commonPrefix returns the common prefix of all words.
func commonPrefix(words []string) string {
	prefix := words[0]
	for _, word := range words[1:] {
		for !strings.HasPrefix(word, prefix) {
			prefix = prefix[:len(prefix)-1]
		}
	}
	return strings.ToValidUTF8(prefix, "")
}

// keyFilter passes typed keys on. Ctrl-C, which the terminal's reader takes for the end of the input, clears the line: it
// becomes the keys for going to the line's end and removing all before it.
type keyFilter struct {
	from    io.Reader
	waiting []byte
}

func (k *keyFilter) Read(p []byte) (int, error) {
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
