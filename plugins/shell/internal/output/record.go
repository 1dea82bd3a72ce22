// Package output keeps what commands print: the head and the tail in memory, the whole in a bounded file, and what a
// poller has not fetched yet in a ring. It must not know what printed it.
package output

import (
	"io"
	"sync"
)

// The streams of a command.
const (
	Stdout = iota
	Stderr
)

// Record keeps the output of one command: both streams as they came, and each apart. The whole goes to a file as soon
// as it is more than can be kept. It may be used concurrently.
type Record struct {
	create func() (File, error)

	mu      sync.Mutex
	all     Excerpt
	streams [2]Excerpt // kept apart from the moment on at which both have said something
	first   int        // the stream that spoke first
	both    bool
	file    File
	// for the file: the system takes a third of the time for pieces of this size that it takes for what pipes bring
	waiting []byte
	written int64
	failed  error
}

// pieceBytes is how much goes to the file at a time.
const pieceBytes = 256 << 10

// File is where the whole output goes.
type File interface {
	io.WriteCloser
	Name() string // as an agent would name it
}

// NewRecord makes a record. create makes the file when it is needed.
func NewRecord(create func() (File, error)) *Record { return &Record{create: create} }

// Add adds what came on a stream.
func (r *Record) Add(stream int, p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.file == nil && r.failed == nil && r.all.Total()+int64(len(p)) > 2*Keep {
		r.spill()
	}
	r.write(p)
	switch {
	case r.both:
		r.streams[stream].Add(p)
	case r.all.Total() == 0:
		r.first = stream
	case stream != r.first:
		r.both = true
		r.streams[r.first] = r.all.clone()
		r.streams[stream].Add(p)
	}
	r.all.Add(p)
}

// spill begins the file with what came until now.
func (r *Record) spill() {
	if r.file, r.failed = r.create(); r.failed != nil {
		return
	}
	r.waiting = make([]byte, 0, pieceBytes)
	for _, part := range r.all.whole() {
		r.write(part)
	}
}

// write has p go to the file, up to its bound.
func (r *Record) write(p []byte) {
	if r.file == nil {
		return
	}
	p = p[:min(int64(len(p)), FileBytes-r.written-int64(len(r.waiting)))]
	for len(p) > 0 && r.failed == nil {
		n := min(len(p), pieceBytes-len(r.waiting))
		r.waiting, p = append(r.waiting, p[:n]...), p[n:]
		if len(r.waiting) == pieceBytes {
			r.flush()
		}
	}
}

// flush writes what waits to the file.
func (r *Record) flush() {
	if r.file == nil || r.failed != nil {
		return
	}
	n, err := r.file.Write(r.waiting)
	r.written += int64(n)
	r.waiting, r.failed = r.waiting[:0], err
}

// Text is what is kept of both streams as they came, and of each.
func (r *Record) Text() (all, stdout, stderr string) {
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

// Rest says what Text has left out and where it is.
type Rest struct {
	Missing int64  // bytes that are not in Text
	File    string // where the output is; empty if it could not be kept
	Written int64  // how much of it is there
	Total   int64
	Err     error // why it could not be kept
}

// Rest closes the file. Nothing can be added afterwards.
func (r *Record) Rest() Rest {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flush()
	rest := Rest{Missing: r.all.Missing(), Written: r.written, Total: r.all.Total(), Err: r.failed}
	if r.file != nil {
		rest.File = r.file.Name()
		_ = r.file.Close()
		r.file, r.waiting, r.failed = nil, nil, io.ErrClosedPipe
	}
	return rest
}
