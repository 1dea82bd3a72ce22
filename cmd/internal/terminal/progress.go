package terminal

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// showDelay is the time after which the progress line appears; shorter operations show none
	showDelay      = 400 * time.Millisecond
	redrawInterval = 200 * time.Millisecond // how often the line is drawn again, so that the time goes on
)

// Progress shows a line with the progress of an operation on a terminal. It may be used concurrently.
type Progress struct {
	out   *Writer
	began time.Time
	stop  chan struct{}
	ended chan struct{}

	mu          sync.Mutex
	done, total float64
	message     string
	shown       bool
}

// StartProgress starts a progress line. The first call of Update replaces message.
func StartProgress(o *Writer, message string) *Progress {
	p := &Progress{out: o, began: time.Now(), message: message, stop: make(chan struct{}), ended: make(chan struct{})}
	go p.redrawLoop()
	return p
}

// Update sets the progress and the message. A total of 0 means unknown.
func (p *Progress) Update(done, total float64, message string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.done, p.total, p.message = done, total, message
}

// clearLine erases the line. The caller holds the lock.
func (p *Progress) clearLine() {
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// Stop erases the line and ends the display.
func (p *Progress) Stop() {
	close(p.stop)
	<-p.ended
}

// redrawLoop draws the line at an interval until Stop.
func (p *Progress) redrawLoop() {
	defer close(p.ended)
	if !p.out.IsTerminal() {
		return
	}
	wait := time.NewTimer(showDelay)
	defer wait.Stop()
	for {
		select {
		case <-wait.C:
			p.drawLine()
			wait.Reset(redrawInterval)
		case <-p.stop:
			p.mu.Lock()
			p.clearLine()
			p.mu.Unlock()
			return
		}
	}
}

// drawLine draws the line.
func (p *Progress) drawLine() {
	width := cmp.Or(p.out.Width(), 80)
	p.mu.Lock()
	defer p.mu.Unlock()
	line := formatProgress(p.done, p.total, p.message, time.Since(p.began))
	fmt.Fprint(p.out, "\r"+Shorten(CleanLine(line), width-1)+"\x1b[K")
	p.shown = true
}

// formatProgress returns a bar with a percentage, or the elapsed time if the total is unknown.
func formatProgress(done, total float64, message string, since time.Duration) string {
	const cells = 24
	if total > 0 {
		part := min(max(done/total, 0), 1)
		full := int(part * cells)
		return fmt.Sprintf("[%s%s] %3.0f%%  %s", strings.Repeat("#", full), strings.Repeat("-", cells-full), part*100,
			message)
	}
	return fmt.Sprintf("%s  %s", since.Round(time.Second), message)
}
