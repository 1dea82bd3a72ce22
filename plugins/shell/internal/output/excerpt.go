package output

import "fmt"

// Keep is how much of an output's beginning and of its end is kept in memory, in bytes each.
const Keep = 128 << 10

// Excerpt keeps the beginning and the end of a stream.
type Excerpt struct {
	head, tail []byte // the tail is a ring once it is Keep bytes long
	next       int    // where in the ring the next byte goes
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
	if room := Keep - len(e.tail); room > 0 {
		n := min(room, len(p))
		e.tail = append(e.tail, p[:n]...)
		p = p[n:]
	}
	if len(p) > Keep { // only its end can stay
		p = p[len(p)-Keep:]
	}
	for len(p) > 0 {
		n := copy(e.tail[e.next:], p)
		e.next = (e.next + n) % Keep
		p = p[n:]
	}
}

// Total is how many bytes came.
func (e *Excerpt) Total() int64 { return e.total }

// Missing is how many bytes in the middle are not kept.
func (e *Excerpt) Missing() int64 {
	return e.total - int64(len(e.head)) - int64(len(e.tail))
}

// String is what is kept; it says in the middle what is left out.
func (e *Excerpt) String() string {
	if missing := e.Missing(); missing > 0 {
		return fmt.Sprintf("%s\n… (%d bytes left out) …\n%s%s", e.head, missing, e.tail[e.next:], e.tail[:e.next])
	}
	return string(e.head) + string(e.tail)
}

// whole is everything that came, while nothing is missing.
func (e *Excerpt) whole() [][]byte { return [][]byte{e.head, e.tail} }

// clone returns a copy that shares nothing.
func (e *Excerpt) clone() Excerpt {
	c := *e
	c.head, c.tail = append([]byte(nil), e.head...), append([]byte(nil), e.tail...)
	return c
}
