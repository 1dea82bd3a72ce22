package output

import (
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	livePending = 64 << 10              // maximum bytes waiting to be forwarded
	liveEvery   = 50 * time.Millisecond // interval between two forwards
)

// LiveForwarder forwards output while the command runs. It drops output above a limit instead of delaying the command,
// and never splits characters.
type LiveForwarder struct {
	pass [2]func([]byte)
	wake chan struct{}
	quit chan struct{} // closed by Close
	done chan struct{}
	held [2][]byte // incomplete character at the end of each stream; only forwardLoop uses it

	mu      sync.Mutex
	pending []pendingChunk
	size    int
	dropped int64
}

type pendingChunk struct {
	stream int
	data   []byte
}

// NewLiveForwarder returns a forwarder that calls stdout and stderr with the output of each stream until Close.
func NewLiveForwarder(stdout, stderr func([]byte)) *LiveForwarder {
	l := &LiveForwarder{pass: [2]func([]byte){stdout, stderr}, wake: make(chan struct{}, 1), quit: make(chan struct{}),
		done: make(chan struct{})}
	go l.forwardLoop()
	return l
}

// AddBytes adds output of a stream. p is copied.
func (l *LiveForwarder) AddBytes(stream int, p []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	room := livePending - l.size
	if n := min(len(p), room); n > 0 && l.dropped == 0 {
		if last := len(l.pending) - 1; last >= 0 && l.pending[last].stream == stream {
			l.pending[last].data = append(l.pending[last].data, p[:n]...)
		} else {
			l.pending = append(l.pending, pendingChunk{stream, append([]byte(nil), p[:n]...)})
		}
		l.size += n
		p = p[n:]
	}
	l.dropped += int64(len(p))
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

func (l *LiveForwarder) forwardLoop() {
	defer close(l.done)
	for {
		select {
		case <-l.wake:
			l.forwardPending()
		case <-l.quit:
			l.forwardPending()
			l.forwardPartial()
			return
		}
		select {
		case <-time.After(liveEvery):
		case <-l.quit:
		}
	}
}

func (l *LiveForwarder) forwardPending() {
	l.mu.Lock()
	pending, dropped := l.pending, l.dropped
	l.pending, l.size, l.dropped = nil, 0, 0
	l.mu.Unlock()
	for _, c := range pending {
		data := slices.Concat(l.held[c.stream], c.data)
		whole := len(data) - partialCharacterLength(data)
		l.held[c.stream] = append([]byte(nil), data[whole:]...)
		if whole > 0 {
			l.pass[c.stream](data[:whole])
		}
	}
	if dropped > 0 {
		l.held = [2][]byte{} // the rest of the character may be dropped
		l.pass[Stderr](fmt.Appendf(nil, "\n… (%d bytes not shown while it runs) …\n", dropped))
	}
}

// forwardPartial forwards incomplete characters.
func (l *LiveForwarder) forwardPartial() {
	for stream, data := range l.held {
		if len(data) > 0 {
			l.pass[stream](data)
		}
	}
}

// Close forwards the remaining output and stops.
func (l *LiveForwarder) Close() {
	close(l.quit)
	<-l.done
}
