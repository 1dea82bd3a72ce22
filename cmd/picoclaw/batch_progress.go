package main

import (
	"fmt"
	"os"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
)

// batchProgress tells a person who waits how far a batch is: by the bytes that were answered, where the calls are in a
// file, and else by their number alone. nil shows nothing.
type batchProgress struct {
	line        *terminal.Progress
	total, done int64 // bytes; a total of 0 is not known
	calls, bad  int
}

// batchProgress begins, if standard error is a terminal and the answers are not on it: there, they are the progress.
func (a *app) batchProgress() *batchProgress {
	errors := terminal.New(a.stderr)
	if !errors.IsTerminal() || terminal.New(a.stdout).IsTerminal() {
		return nil
	}
	p := &batchProgress{line: terminal.NewProgress(errors, "waiting for calls")}
	if f, ok := a.stdin.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			p.total = info.Size()
		}
	}
	return p
}

// answered counts an answer, to a line of so many bytes. It is not for concurrent use.
func (p *batchProgress) answered(answer any, bytes int) {
	if p == nil {
		return
	}
	p.calls++
	p.done += int64(bytes)
	text := fmt.Sprintf("%d answered", p.calls)
	if r, ok := answer.(callResult); ok && !r.OK {
		p.bad++
	}
	if p.bad > 0 {
		text += fmt.Sprintf(", %d with an error", p.bad)
	}
	p.line.Show(float64(p.done), float64(p.total), text)
}

func (p *batchProgress) end() {
	if p != nil {
		p.line.Done()
	}
}
