package egress

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// chunkSize is the number of bytes that a tunnel copies between two updates of its activity.
const chunkSize = 256 << 10

// copyBothWays copies bytes in both directions until both sides have ended, one fails, or no data flows for the idle
// time. Between two TCP connections, the kernel copies.
func copyBothWays(inside, outside net.Conn, idle time.Duration) (sent, received int64, err error) {
	t := &tunnelActivity{idle: idle, outside: outside}
	t.lastByte.Store(time.Now().UnixNano())
	var wg sync.WaitGroup
	var sendErr, receiveErr error
	wg.Go(func() { sent, sendErr = t.copyOneWay(outside, inside) })
	wg.Go(func() { received, receiveErr = t.copyOneWay(inside, outside) })
	wg.Wait()
	return sent, received, errors.Join(sendErr, receiveErr)
}

// tunnelActivity records the time of the last byte in either direction of a tunnel, and the end of the server's bytes.
type tunnelActivity struct {
	idle        time.Duration
	lastByte    atomic.Int64 // time of the last byte in nanoseconds
	outside     net.Conn
	serverEnded atomic.Bool
}

// copyOneWay copies bytes in one direction. After an error it closes both connections.
func (t *tunnelActivity) copyOneWay(to, from net.Conn) (total int64, err error) {
	for {
		start := time.Now()
		_ = from.SetReadDeadline(start.Add(t.idle))
		_ = to.SetWriteDeadline(start.Add(2 * t.idle)) // twice the timeout, since a failed write loses bytes
		n, err := io.CopyN(to, from, chunkSize)
		total += n
		if n > 0 {
			t.lastByte.Store(time.Now().UnixNano())
		}
		switch {
		case err == nil:
			continue
		case errors.Is(err, io.EOF):
			if from == t.outside {
				t.serverEnded.Store(true)
			}
			return total, closeWrite(to)
		case to == t.outside && t.serverEnded.Load() && (errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)):
			err = nil // the server reads nothing more, such as the end of TLS
		case errors.Is(err, os.ErrDeadlineExceeded) && time.Since(start) < 2*t.idle &&
			time.Since(time.Unix(0, t.lastByte.Load())) < t.idle:
			continue
		}
		_ = to.Close()
		_ = from.Close()
		return total, err
	}
}

// closeWrite closes the sending direction of a connection, or all of it if half-closing is not supported.
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

// slotConn is a connection that occupies a slot until it is closed.
type slotConn struct {
	net.Conn
	slots chan struct{}
	once  sync.Once
}

// CloseWrite closes the sending direction.
func (c *slotConn) CloseWrite() error { return closeWrite(c.Conn) }

// Close closes the connection and frees its slot.
func (c *slotConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { <-c.slots })
	return err
}
