package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// chunk is how much is copied before the time is looked at.
const chunk = 256 << 10

// tunnel carries bytes both ways until both sides have ended, one fails, or neither says anything for long. Between TCP
// connections the kernel moves them.
func tunnel(inside, outside net.Conn, idle time.Duration) (sent, received int64, err error) {
	t := &traffic{idle: idle}
	t.moved.Store(time.Now().UnixNano())
	var wg sync.WaitGroup
	var there, back error
	wg.Go(func() { sent, there = t.copy(outside, inside) })
	wg.Go(func() { received, back = t.copy(inside, outside) })
	wg.Wait()
	return sent, received, errors.Join(there, back)
}

// traffic is what both directions of a tunnel know.
type traffic struct {
	idle  time.Duration
	moved atomic.Int64 // when a byte last was, in nanoseconds
}

// copy carries bytes one way. After an error nothing goes the other way either.
func (t *traffic) copy(to, from net.Conn) (total int64, err error) {
	for {
		start := time.Now()
		_ = from.SetReadDeadline(start.Add(t.idle))
		_ = to.SetWriteDeadline(start.Add(2 * t.idle)) // later, as bytes are lost with it
		n, err := io.CopyN(to, from, chunk)
		total += n
		if n > 0 {
			t.moved.Store(time.Now().UnixNano())
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			return total, closeWrite(to)
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(start) < 2*t.idle &&
			time.Since(time.Unix(0, t.moved.Load())) < t.idle:
			continue
		}
		_ = to.Close()
		_ = from.Close()
		return total, err
	}
}

// closeWrite ends what the other side reads, and the connection if it knows of no half.
func closeWrite(c net.Conn) error {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		return c.Close()
	}
	if err := half.CloseWrite(); err != nil && !errors.Is(err, net.ErrClosed) {
		return c.Close()
	}
	return nil
}

// counted is a connection that takes room until it is closed.
type counted struct {
	net.Conn
	room chan struct{}
	once sync.Once
}

// CloseWrite ends what the other side reads.
func (c *counted) CloseWrite() error { return closeWrite(c.Conn) }

func (c *counted) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.room })
	return err
}
