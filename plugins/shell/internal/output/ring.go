package output

import (
	"context"
	"errors"
	"os"
	"sync"
	"unicode/utf8"
)

// RingBytes is how much a ring holds.
const RingBytes = 16 << 20

// Ring keeps the last output of a command that is polled. What nobody has fetched yet is never overwritten: whoever
// adds to a full ring waits, and with it the command. It is a file without a name, so that it takes no memory and is
// gone with this process. It may be used concurrently.
type Ring struct {
	file *os.File

	mu      sync.Mutex
	begin   int64 // the oldest byte that is there
	end     int64 // the next byte that will come
	fetched int64 // the first byte that nobody has fetched
	closed  bool
	changed chan struct{} // closed and replaced at every change
}

// NewRing makes an empty ring with its file in dir.
func NewRing(dir string) (*Ring, error) {
	f, err := os.CreateTemp(dir, "picoclaw-output")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Ring{file: f, changed: make(chan struct{})}, nil
}

// Add adds what came, and waits while there is no room for it. It gives up when the ring is closed.
func (r *Ring) Add(p []byte) {
	for len(p) > 0 {
		r.mu.Lock()
		room := RingBytes - (r.end - r.fetched)
		if r.closed || room == 0 {
			changed, closed := r.changed, r.closed
			r.mu.Unlock()
			if closed {
				return
			}
			<-changed
			continue
		}
		at := r.end % RingBytes
		n := min(int64(len(p)), room, RingBytes-at)
		if _, err := r.file.WriteAt(p[:n], at); err != nil {
			r.closed = true // the disk is full: what was fetched is not endangered
			r.tell()
			r.mu.Unlock()
			return
		}
		r.end += n
		r.begin = max(r.begin, r.end-RingBytes)
		p = p[n:]
		r.tell()
		r.mu.Unlock()
	}
}

// tell wakes whoever waits. The caller holds the lock.
func (r *Ring) tell() {
	close(r.changed)
	r.changed = make(chan struct{})
}

// Piece is a piece of an output.
type Piece struct {
	Data []byte
	Next int64 // the cursor of what comes after it
	Lost int64 // bytes before it that were fetched once and are gone
	More bool  // there is more already
}

// Read returns what there is from a cursor on, at most limit bytes. The beginning of a character at the end of it is
// left for the next time, when the rest of it has come; but not if that was all, and nothing more will come.
func (r *Ring) Read(cursor int64, limit int, all bool) (Piece, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	var piece Piece
	if cursor < r.begin {
		piece.Lost, cursor = r.begin-cursor, r.begin
	}
	cursor = min(cursor, r.end)
	data, err := r.bytes(cursor, min(int64(limit), r.end-cursor))
	if err != nil {
		return Piece{}, err
	}
	read := cursor + int64(len(data))
	if last := read == r.end; !last || !all && !r.closed {
		if whole := len(data) - partial(data); last || whole > 0 {
			data = data[:whole]
		}
	}
	piece.Data, piece.Next, piece.More = data, cursor+int64(len(data)), read < r.end
	r.fetched = max(r.fetched, piece.Next)
	r.tell()
	return piece, nil
}

// bytes reads n bytes that are there. The caller holds the lock.
func (r *Ring) bytes(cursor, n int64) ([]byte, error) {
	data := make([]byte, n)
	for done := int64(0); done < n; {
		at := (cursor + done) % RingBytes
		part := min(n-done, RingBytes-at)
		if _, err := r.file.ReadAt(data[done:done+part], at); err != nil {
			return nil, err
		}
		done += part
	}
	return data, nil
}

// Fetched is the first byte that nobody has fetched, and End what has come until now.
func (r *Ring) Fetched() (fetched, end int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fetched, r.end
}

// Await waits until there is a character at a cursor, or done or ctx is.
func (r *Ring) Await(ctx context.Context, cursor int64, done <-chan struct{}) {
	for {
		r.mu.Lock()
		there, changed := r.closed || r.readable(cursor), r.changed
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

// readable reports whether there is more at a cursor than the beginning of a character. The caller holds the lock.
func (r *Ring) readable(cursor int64) bool {
	n := r.end - cursor
	if cursor < r.begin || n >= utf8.UTFMax {
		return true
	}
	data, err := r.bytes(cursor, max(n, 0))
	return err != nil || partial(data) < len(data) // what can't be read is for Read to say
}

// Stop lets nobody wait for room any more; what is there can still be read.
func (r *Ring) Stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	r.tell()
}

// Close gives the file back.
func (r *Ring) Close() error {
	r.Stop()
	return r.file.Close()
}

// partial is how many bytes at the end of data are the beginning of a character whose rest is still to come.
func partial(data []byte) int {
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
