// Package output stores the output of commands: beginning and end in memory, the complete output in a bounded file,
// and unpolled output in a ring. It must not know the source of the output.
package output

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

// The output streams of a command.
const (
	Stdout = iota
	Stderr
)

// OutputRecorder keeps the interleaved output and each stream. Long output goes to a file. Use may be concurrent.
type OutputRecorder struct {
	create func() (OutputFile, error)

	mu      sync.Mutex
	all     HeadTailBuffer
	streams [2]HeadTailBuffer // separate streams, used once both have output
	first   int               // stream with the first output
	both    bool
	file    OutputFile
	// buffered bytes for the file: large writes take a third of the time of the small reads from pipes
	waiting []byte
	written int64
	failed  error
}

// fileWriteBytes is the size of each write to the file.
const fileWriteBytes = 256 << 10

// OutputFile is the file that stores a complete output.
type OutputFile interface {
	io.WriteCloser
	Name() string // as an agent would name it
}

// NewOutputRecorder returns an empty recorder. It calls create for the file when the output becomes long.
func NewOutputRecorder(create func() (OutputFile, error)) *OutputRecorder {
	return &OutputRecorder{create: create}
}

// AddBytes adds output of a stream.
func (r *OutputRecorder) AddBytes(stream int, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil && r.failed == nil && r.all.TotalBytes()+int64(len(p)) > 2*ExcerptBytes {
		r.createFile()
	}
	r.appendToFile(p)
	switch {
	case r.both:
		r.streams[stream].AddBytes(p)
	case r.all.TotalBytes() == 0:
		r.first = stream
	case stream != r.first:
		r.both = true
		r.streams[r.first] = r.all.Clone()
		r.streams[stream].AddBytes(p)
	}
	r.all.AddBytes(p)
}

// createFile creates the file and writes the output so far.
func (r *OutputRecorder) createFile() {
	if r.file, r.failed = r.create(); r.failed != nil {
		return
	}
	r.waiting = make([]byte, 0, fileWriteBytes)
	for _, part := range [][]byte{r.all.head, r.all.tail} {
		r.appendToFile(part)
	}
}

// appendToFile appends p to the file, up to the file's limit.
func (r *OutputRecorder) appendToFile(p []byte) {
	if r.file == nil {
		return
	}
	p = p[:min(int64(len(p)), MaxFileBytes-r.written-int64(len(r.waiting)))]
	for len(p) > 0 && r.failed == nil {
		n := min(len(p), fileWriteBytes-len(r.waiting))
		r.waiting, p = append(r.waiting, p[:n]...), p[n:]
		if len(r.waiting) == fileWriteBytes {
			r.flushFile()
		}
	}
}

// flushFile writes buffered output.
func (r *OutputRecorder) flushFile() {
	if r.file == nil || r.failed != nil {
		return
	}
	n, err := r.file.Write(r.waiting)
	r.written += int64(n)
	r.waiting, r.failed = r.waiting[:0], err
}

// Texts returns the kept output: both streams interleaved, and each one.
func (r *OutputRecorder) Texts() (all, stdout, stderr string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all = r.all.String()
	switch {
	case r.both:
		return all, r.streams[Stdout].String(), r.streams[Stderr].String()
	case r.first == Stderr:
		return all, "", all
	default:
		return all, all, ""
	}
}

// OmissionReport describes the output that Texts omits, and where the complete output is.
type OmissionReport struct {
	Missing int64  // bytes that are not in Text
	File    string // where the output is; empty if it could not be kept
	Written int64  // how much of it is there
	Total   int64
	Err     error // why it could not be kept
}

// Finish closes the file and reports the omitted output.
func (r *OutputRecorder) Finish() OmissionReport {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flushFile()
	rest := OmissionReport{Missing: r.all.OmittedBytes(), Written: r.written, Total: r.all.TotalBytes(), Err: r.failed}
	if r.file != nil {
		rest.File = r.file.Name()
		_ = r.file.Close()
		r.file, r.waiting, r.failed = nil, nil, io.ErrClosedPipe
	}
	return rest
}

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
