// Package stdio provides pipes for a child's standard streams, and keeps the end of its output to explain how it ended.
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

// ChildPipes are this process's ends of the pipes to a child's standard streams.
type ChildPipes struct {
	In, Out, Err *os.File
	theirs       [3]*os.File
}

// AttachPipes connects the standard streams of a command to new pipes.
func AttachPipes(cmd *exec.Cmd) (*ChildPipes, error) {
	p := &ChildPipes{}
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

// CloseChildEnds closes this process's copies of the child's ends. Call it after the child has started.
func (p *ChildPipes) CloseChildEnds() { closeFiles(p.theirs[:]...) }

// SetReadDeadlines makes reads fail after a second. Call it after the child has ended, since its descendants may still
// hold the pipes.
func (p *ChildPipes) SetReadDeadlines() {
	for _, f := range []*os.File{p.In, p.Out, p.Err} {
		_ = f.SetDeadline(time.Now().Add(time.Second))
	}
}

// Close closes both ends of all pipes.
func (p *ChildPipes) Close() {
	p.CloseChildEnds()
	closeFiles(p.In, p.Out, p.Err)
}

func closeFiles(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // of nil as well
	}
}

// TailBuffer is a writer that keeps only the last bytes. It is safe for concurrent use.
type TailBuffer struct {
	most int // maximum number of bytes
	mu   sync.Mutex
	data []byte
}

// NewTailBuffer returns a buffer that keeps the last most bytes.
func NewTailBuffer(most int) *TailBuffer { return &TailBuffer{most: most} }

// Write appends p and drops the oldest bytes beyond the maximum.
func (t *TailBuffer) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, p...)
	if over := len(t.data) - t.most; over > 0 {
		t.data = append(t.data[:0], t.data[over:]...)
	}
	return len(p), nil
}

// Text returns the kept bytes. full reports whether their number is the maximum, so that earlier bytes may be missing.
func (t *TailBuffer) Text() (text string, full bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data), len(t.data) == t.most
}

// PrintablePrefix returns the beginning of a program's output without unprintable characters, such as terminal control
// sequences.
func PrintablePrefix(text string, most int) string {
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
