package terminal

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

// patience is how long work may take before its progress is shown: what is over sooner needs none.
const patience = 400 * time.Millisecond

// Progress is a line that tells how far work is. It may be used concurrently. It shows nothing on what is no terminal.
type Progress struct {
	out   *Out
	began time.Time
	now   func() time.Time

	mu    sync.Mutex
	shown bool
	over  bool
}

// NewProgress begins.
func NewProgress(o *Out) *Progress { return &Progress{out: o, began: time.Now(), now: time.Now} }

// Show says how far the work is. A total of 0 is not known.
func (p *Progress) Show(done, total float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || !p.out.IsTerminal() || p.now().Sub(p.began) < patience {
		return
	}
	width := p.out.Width()
	if width == 0 {
		width = 80
	}
	line := bar(done, total, message, p.now().Sub(p.began))
	fmt.Fprint(p.out, "\r"+Shorten(Line(line), width-1)+"\x1b[K")
	p.shown = true
}

// Done takes the line away. Nothing is shown afterwards.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.over, p.shown = true, false
}

func bar(done, total float64, message string, since time.Duration) string {
	const cells = 24
	if total > 0 {
		part := min(max(done/total, 0), 1)
		full := int(part * cells)
		return fmt.Sprintf("[%s%s] %3.0f%%  %s", strings.Repeat("#", full), strings.Repeat("-", cells-full), part*100, message)
	}
	return fmt.Sprintf("%s  %s", since.Round(time.Second), message)
}
