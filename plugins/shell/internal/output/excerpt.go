package output

import "fmt"

// Keep is how much of an output's beginning and of its end is kept in memory, in bytes each.
const Keep = 128 << 10

// Excerpt keeps the beginning and the end of a stream.
type Excerpt struct {
	head, tail []byte
	total      int64
}

// Add adds what came next.
func (e *Excerpt) Add(p []byte) {
	e.total += int64(len(p))
	if room := Keep - len(e.head); room > 0 {
		n := min(room, len(p))
		e.head = append(e.head, p[:n]...)
		p = p[n:]
	}
	if len(p) > Keep { // only its end can stay
		p = p[len(p)-Keep:]
	}
	e.tail = append(e.tail, p...)
	if len(e.tail) > 2*Keep { // cut seldom, so that every byte is moved once on average
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-Keep:]...)
	}
}

// Total is how many bytes came.
func (e *Excerpt) Total() int64 { return e.total }

// Missing is how many bytes in the middle are not kept.
func (e *Excerpt) Missing() int64 {
	return e.total - int64(len(e.head)) - int64(min(len(e.tail), Keep))
}

// String is what is kept; it says in the middle what is left out.
func (e *Excerpt) String() string {
	tail := e.tail
	if len(tail) > Keep {
		tail = tail[len(tail)-Keep:]
	}
	if missing := e.Missing(); missing > 0 {
		return fmt.Sprintf("%s\n… (%d bytes left out) …\n%s", e.head, missing, tail)
	}
	return string(e.head) + string(tail)
}

// whole is everything that came, while nothing is missing.
func (e *Excerpt) whole() [][]byte { return [][]byte{e.head, e.tail} }
