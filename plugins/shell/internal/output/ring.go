package output

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"unicode/utf8"
)

// RingCapacity is the capacity of a ring in bytes.
const RingCapacity = 16 << 20

// OutputRing keeps the output of a background command until it is polled. A write to a full ring blocks, and so does
// the command: unread output is never overwritten. The ring is an unnamed file, so it uses no memory and disappears
// with the process. It may be used concurrently.
type OutputRing struct {
	file *os.File

	mu      sync.Mutex
	begin   int64 // the oldest byte that is there
	end     int64 // the next byte that will come
	fetched int64 // the first byte that nobody has fetched
	closed  bool
	changed chan struct{} // closed and replaced at every change
}

// NewOutputRing returns an empty ring with its file in dir.
func NewOutputRing(dir string) (*OutputRing, error) {
	f, err := os.CreateTemp(dir, "picoclaw-output")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &OutputRing{file: f, changed: make(chan struct{})}, nil
}

// AddBytes appends data, and blocks while the ring is full. It returns when the ring is closed.
func (r *OutputRing) AddBytes(p []byte) {
	for len(p) > 0 {
		r.mu.Lock()
		room := RingCapacity - (r.end - r.fetched)
		if r.closed || room == 0 {
			changed, closed := r.changed, r.closed
			r.mu.Unlock()
			if closed {
				return
			}
			<-changed
			continue
		}
		at := r.end % RingCapacity
		n := min(int64(len(p)), room, RingCapacity-at)
		if _, err := r.file.WriteAt(p[:n], at); err != nil {
			r.closed = true // the disk is full: what was fetched is not endangered
			r.wakeWaiters()
			r.mu.Unlock()
			return
		}
		r.end += n
		r.begin = max(r.begin, r.end-RingCapacity)
		p = p[n:]
		r.wakeWaiters()
		r.mu.Unlock()
	}
}

// wakeWaiters wakes the goroutines that wait for the ring to change. The caller holds the lock.
func (r *OutputRing) wakeWaiters() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// PolledOutput is the output that one poll returns.
type PolledOutput struct {
	Data []byte
	Next int64 // the cursor of what comes after it
	Lost int64 // bytes before it that were fetched once and are gone
	More bool  // there is more already
}

// ReadOutput returns at most limit bytes of output from a cursor. An incomplete character is left if more may follow.
func (r *OutputRing) ReadOutput(cursor int64, limit int, all bool) (PolledOutput, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var piece PolledOutput
	if cursor < r.begin {
		piece.Lost, cursor = r.begin-cursor, r.begin
	}
	cursor = min(cursor, r.end)
	data, err := r.readBytes(cursor, min(int64(limit), r.end-cursor))
	if err != nil {
		return PolledOutput{}, err
	}
	read := cursor + int64(len(data))
	if last := read == r.end; !last || !all && !r.closed {
		if whole := len(data) - partialCharacterLength(data); last || whole > 0 {
			data = data[:whole]
		}
	}
	piece.Data, piece.Next, piece.More = data, cursor+int64(len(data)), read < r.end
	r.fetched = max(r.fetched, piece.Next)
	r.wakeWaiters()
	return piece, nil
}

// readBytes reads n available bytes at a cursor. The caller holds the lock.
func (r *OutputRing) readBytes(cursor, n int64) ([]byte, error) {
	data := make([]byte, n)
	for done := int64(0); done < n; {
		at := (cursor + done) % RingCapacity
		part := min(n-done, RingCapacity-at)
		if _, err := r.file.ReadAt(data[done:done+part], at); err != nil {
			return nil, err
		}
		done += part
	}
	return data, nil
}

// Cursors returns the positions of the first unread byte and of the end.
func (r *OutputRing) Cursors() (fetched, end int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fetched, r.end
}

// WaitForOutput waits until there is a character at a cursor, or done is closed, or ctx ends.
func (r *OutputRing) WaitForOutput(ctx context.Context, cursor int64, done <-chan struct{}) {
	for {
		r.mu.Lock()
		there, changed := r.closed || r.hasCharacter(cursor), r.changed
		r.mu.Unlock()
		if there {
			return
		}
		select {
		case <-changed:
		case <-done:
			return
		case <-ctx.Done():
			return
		}
	}
}

// hasCharacter reports whether there is a complete character at a cursor. The caller holds the lock.
func (r *OutputRing) hasCharacter(cursor int64) bool {
	n := r.end - cursor
	if cursor < r.begin || n >= utf8.UTFMax {
		return true
	}
	data, err := r.readBytes(cursor, max(n, 0))
	return err != nil || partialCharacterLength(data) < len(data) // ReadOutput reports the error
}

// StopWriters unblocks writers and drops their output. Stored output stays readable.
func (r *OutputRing) StopWriters() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.wakeWaiters()
}

// Close closes the ring's file.
func (r *OutputRing) Close() error {
	r.StopWriters()
	return r.file.Close()
}

// partialCharacterLength returns the length of an incomplete character at the end of data.
func partialCharacterLength(data []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(data); n++ {
		if last := data[len(data)-n:]; utf8.RuneStart(last[0]) {
			if !utf8.FullRune(last) {
				return n
			}
			return 0
		}
	}
	return 0
}

// ExcerptBytes is the number of bytes kept at the beginning and at the end of an output.
const ExcerptBytes = 32 << 10

// HeadTailBuffer keeps the beginning and the end of a stream.
type HeadTailBuffer struct {
	head, tail []byte // the tail is a ring once it is ExcerptBytes long
	next       int    // position of the next byte in the ring
	total      int64
}

// AddBytes appends data.
func (e *HeadTailBuffer) AddBytes(p []byte) {
	e.total += int64(len(p))
	if room := ExcerptBytes - len(e.head); room > 0 {
		n := min(room, len(p))
		e.head = append(e.head, p[:n]...)
		p = p[n:]
	}
	if room := ExcerptBytes - len(e.tail); room > 0 {
		n := min(room, len(p))
		e.tail = append(e.tail, p[:n]...)
		p = p[n:]
	}
	if len(p) > ExcerptBytes { // only its end can stay
		p = p[len(p)-ExcerptBytes:]
	}
	for len(p) > 0 {
		n := copy(e.tail[e.next:], p)
		e.next = (e.next + n) % ExcerptBytes
		p = p[n:]
	}
}

// TotalBytes returns the number of bytes added.
func (e *HeadTailBuffer) TotalBytes() int64 { return e.total }

// OmittedBytes returns the number of bytes omitted in the middle.
func (e *HeadTailBuffer) OmittedBytes() int64 {
	return e.total - int64(len(e.head)) - int64(len(e.tail))
}

// String returns the kept text, with a note about the omitted part.
func (e *HeadTailBuffer) String() string {
	if missing := e.OmittedBytes(); missing > 0 {
		return fmt.Sprintf("%s\n… (%d bytes left out) …\n%s%s", e.head, missing, e.tail[e.next:], e.tail[:e.next])
	}
	return string(e.head) + string(e.tail)
}

// Clone returns an independent copy.
func (e *HeadTailBuffer) Clone() HeadTailBuffer {
	c := *e
	c.head, c.tail = append([]byte(nil), e.head...), append([]byte(nil), e.tail...)
	return c
}
