package terminal

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// how long work may take before its progress is shown: what is over sooner needs none
	patience = 400 * time.Millisecond
	redraw   = 200 * time.Millisecond // how often the line is drawn again, so that the time goes on
)

// Progress is a line that tells how far work is. It may be used concurrently. It shows nothing on what is no terminal.
type Progress struct {
	out   *Out
	began time.Time
	stop  chan struct{}
	ended chan struct{}

	mu          sync.Mutex
	done, total float64
	message     string
	paused      int // how many questions are open
	shown       bool
}

// NewProgress begins. The message is shown until there is a better one.
func NewProgress(o *Out, message string) *Progress {
	p := &Progress{out: o, began: time.Now(), message: message, stop: make(chan struct{}), ended: make(chan struct{})}
	go p.redrawLoop()
	return p
}

// Show says how far the work is. A total of 0 is not known.
func (p *Progress) Show(done, total float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total, p.message = done, total, message
}

// Pause takes the line away until resume is called: while a person is asked something on the same terminal. There may
// be several questions at once.
func (p *Progress) Pause() (resume func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.paused++
	p.clearLine()
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.paused--
	})
}

// clearLine removes the line. The caller holds the lock.
func (p *Progress) clearLine() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// Done takes the line away. Nothing is shown afterwards.
func (p *Progress) Done() {
	close(p.stop)
	<-p.ended
}

func (p *Progress) redrawLoop() {
	defer close(p.ended)
	if !p.out.IsTerminal() {
		return
	}
	wait := time.NewTimer(patience)
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
			p.drawLine()
			wait.Reset(redraw)
		case <-p.stop:
			p.mu.Lock()
			p.clearLine()
			p.mu.Unlock()
			return
		}
	}
}

func (p *Progress) drawLine() {
	width := p.out.Width()
	if width == 0 {
		width = 80
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.paused > 0 {
		return
	}
	line := progressBar(p.done, p.total, p.message, time.Since(p.began))
	fmt.Fprint(p.out, "\r"+Shorten(Line(line), width-1)+"\x1b[K")
	p.shown = true
}

func progressBar(done, total float64, message string, since time.Duration) string {
	const cells = 24
	if total > 0 {
		part := min(max(done/total, 0), 1)
		full := int(part * cells)
		return fmt.Sprintf("[%s%s] %3.0f%%  %s", strings.Repeat("#", full), strings.Repeat("-", cells-full), part*100,
			message)
	}
	return fmt.Sprintf("%s  %s", since.Round(time.Second), message)
}
