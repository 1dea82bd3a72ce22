package main

import (
	"errors"
	"io"
	"os"
	"time"
)

// growing reads a file to which a process writes, until the process has ended.
type growing struct {
	file    *os.File
	done    <-chan struct{}  // closed when the process has ended
	release func(upTo int64) // gives back the memory of what was read

	at, released int64
	short        bool // the last read came to the end of what there was
	ended        bool
}

const (
	// glance is how often it is looked for more: often enough for results to be told of at once, and seldom enough not to
	// be in the way of the program that searches.
	glance = 3 * time.Millisecond
	// releasedBytes is how much is given back at once.
	releasedBytes = 1 << 20
)

func (g *growing) Read(p []byte) (int, error) {
	for {
		if g.short && !g.ended {
			select {
			case <-g.done:
				g.ended = true
			case <-time.After(glance):
			}
		}
		n, err := g.file.ReadAt(p, g.at)
		g.short = n < len(p)
		if n > 0 {
			g.at += int64(n)
			if g.at-g.released >= releasedBytes {
				g.release(g.at)
				g.released = g.at
			}
			return n, nil
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		if g.ended {
			return 0, io.EOF
		}
	}
}
