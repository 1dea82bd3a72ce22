package main

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

const (
	// keep is how much of the output's beginning and of its end is returned, in bytes each.
	keep = 128 << 10
	// drainGrace is how long the output of a command that has ended may take to arrive; something that is still alive
	// may hold its pipes.
	drainGrace = 500 * time.Millisecond
)

// capture takes a command's two output streams, keeps the head and the tail of what comes, in the order in which it
// comes, and passes it on.
type capture struct {
	stdout, stderr *os.File // the command's ends
	readers        [2]*os.File
	pass           [2]func([]byte)
	done           sync.WaitGroup

	mu     sync.Mutex
	all    excerpt
	stream [2]excerpt
}

func newCapture(stdout, stderr func([]byte)) (*capture, error) {
	c := &capture{pass: [2]func([]byte){stdout, stderr}}
	for i, theirs := range []**os.File{&c.stdout, &c.stderr} {
		r, w, err := os.Pipe()
		if err != nil {
			c.close()
			return nil, fmt.Errorf("make a pipe for the command's output: %w", err)
		}
		c.readers[i], *theirs = r, w
	}
	return c, nil
}

// started lets go of the command's ends and begins to read.
func (c *capture) started() {
	_ = c.stdout.Close()
	_ = c.stderr.Close()
	for i := range c.readers {
		c.done.Go(func() { c.read(i) })
	}
}

func (c *capture) read(i int) {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.readers[i].Read(buf)
		if n > 0 {
			c.mu.Lock()
			c.all.add(buf[:n])
			c.stream[i].add(buf[:n])
			c.mu.Unlock()
			c.pass[i](buf[:n])
		}
		if err != nil {
			return
		}
	}
}

// output waits for the rest of the output, but not for ever, and returns it.
func (c *capture) output() execOutput {
	for _, r := range c.readers {
		if err := r.SetReadDeadline(time.Now().Add(drainGrace)); err != nil && !errors.Is(err, os.ErrClosed) {
			_ = r.Close() // without a deadline, closing ends the reading
		}
	}
	c.done.Wait()
	return execOutput{
		Stdout:    c.stream[0].String(),
		Stderr:    c.stream[1].String(),
		Truncated: c.all.missing(),
		combined:  c.all.String(),
	}
}

func (c *capture) close() {
	for _, f := range []*os.File{c.stdout, c.stderr, c.readers[0], c.readers[1]} {
		if f != nil {
			_ = f.Close()
		}
	}
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
