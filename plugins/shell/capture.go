package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

const (
	// keep is how much of the output's beginning and of its end is returned, in bytes each.
	keep = 128 << 10
	// drainGrace is how long the output of a command that has ended may take to arrive. All its processes are gone by then,
	// so what is missing is on its way.
	drainGrace = 10 * time.Second
)

// capture takes a command's two output streams, or its terminal's one, keeps the head and the tail of what comes and spools
// the whole, in the order in which it comes, and passes it on.
type capture struct {
	pass  [2]func([]byte) // may be nil
	spool *spool
	done  sync.WaitGroup

	readers []*os.File

	mu     sync.Mutex
	all    excerpt
	stream [2]excerpt
}

// follow reads a stream until it ends.
func (c *capture) follow(r *os.File, stream int) {
	c.readers = append(c.readers, r)
	c.done.Go(func() {
		buf := make([]byte, 64<<10)
		for {
			n, err := r.Read(buf)
			if n > 0 {
				c.add(buf[:n], stream)
			}
			if err != nil { // a terminal ends with an error
				return
			}
		}
	})
}

func (c *capture) add(p []byte, stream int) {
	c.mu.Lock()
	c.all.add(p)
	c.stream[stream].add(p)
	c.mu.Unlock()
	c.spool.add(p)
	if pass := c.pass[stream]; pass != nil {
		pass(p)
	}
}

// wait waits for the rest of the output, but not for ever.
func (c *capture) wait() {
	for _, r := range c.readers {
		if err := r.SetReadDeadline(time.Now().Add(drainGrace)); err != nil && !errors.Is(err, os.ErrClosed) {
			_ = r.Close() // without a deadline, closing ends the reading
		}
	}
	c.done.Wait()
	c.spool.end()
}

func (c *capture) close() {
	for _, r := range c.readers {
		_ = r.Close()
	}
	c.spool.close()
}

// whole returns all of the output that was kept.
func (c *capture) whole() ([]byte, error) {
	size, _ := c.spool.state()
	return io.ReadAll(io.NewSectionReader(c.spool.file, 0, size))
}

// excerpt keeps the beginning and the end of a stream.
type excerpt struct {
	head, tail []byte
	total      int64
}

func (e *excerpt) add(p []byte) {
	e.total += int64(len(p))
	if room := keep - len(e.head); room > 0 {
		n := min(room, len(p))
		e.head = append(e.head, p[:n]...)
		p = p[n:]
	}
	e.tail = append(e.tail, p...)
	if len(e.tail) > 2*keep { // cut seldom, so that every byte is moved once on average
		e.tail = append(e.tail[:0], e.tail[len(e.tail)-keep:]...)
	}
}

func (e *excerpt) missing() int64 {
	return e.total - int64(len(e.head)) - int64(min(len(e.tail), keep))
}

func (e *excerpt) String() string {
	tail := e.tail
	if len(tail) > keep {
		tail = tail[len(tail)-keep:]
	}
	if missing := e.missing(); missing > 0 {
		return fmt.Sprintf("%s\n… (%d bytes left out) …\n%s", e.head, missing, tail)
	}
	return string(e.head) + string(tail)
}
