package output

import "fmt"

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
