// Package stdio has the pipes of a child's standard streams, and keeps the end of what it writes, to explain how it
// ended. It must not know who shows that.
package stdio

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
	"unicode"
)

// Pipes are this process's ends of a child's three streams.
type Pipes struct {
	In, Out, Err *os.File
	theirs       [3]*os.File
}

// Of gives a command pipes for its streams.
func Of(cmd *exec.Cmd) (*Pipes, error) {
	p := &Pipes{}
	var failed [3]error
	p.theirs[0], p.In, failed[0] = os.Pipe()
	p.Out, p.theirs[1], failed[1] = os.Pipe()
	p.Err, p.theirs[2], failed[2] = os.Pipe()
	if err := errors.Join(failed[:]...); err != nil {
		p.Close()
		return nil, err
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.theirs[0], p.theirs[1], p.theirs[2]
	return p, nil
}

// Started closes the ends that the child has got.
func (p *Pipes) Started() { closeAll(p.theirs[:]...) }

// Ended has reading end soon: where nothing ties what the child has started to its end, a pipe may still be held.
func (p *Pipes) Ended() {
	for _, f := range []*os.File{p.In, p.Out, p.Err} {
		_ = f.SetDeadline(time.Now().Add(time.Second))
	}
}

// Close closes all ends.
func (p *Pipes) Close() {
	p.Started()
	closeAll(p.In, p.Out, p.Err)
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // of nil as well
	}
}

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
