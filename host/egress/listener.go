package egress

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// limitedListener accepts at most as many connections at once as the proxy allows. Others wait in the kernel's queue.
type limitedListener struct {
	net.Listener
	proxy *Proxy
}

// Accept waits for a connection and a free slot.
func (g limitedListener) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case g.proxy.clientSlots <- struct{}{}:
	case <-g.proxy.ctx.Done():
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c := &clientConn{Conn: conn, proxy: g.proxy}
	c.resetIdle()
	c.timer = time.AfterFunc(idleTimeout, c.closeIfIdle)
	g.proxy.mu.Lock()
	over := g.proxy.closed
	g.proxy.open[c] = true
	g.proxy.mu.Unlock()
	if over {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// clientConn is a connection from the sandbox. It closes itself after idleTimeout without traffic.
type clientConn struct {
	net.Conn
	proxy    *Proxy
	timer    *time.Timer
	lastUsed atomic.Int64 // Unix time in nanoseconds
	once     sync.Once
}

// Read reads and restarts the idle timer.
func (c *clientConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.resetIdle()
	return n, err
}

// Write writes and restarts the idle timer.
func (c *clientConn) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.resetIdle()
	return n, err
}

// CloseWrite closes the sending direction.
func (c *clientConn) CloseWrite() error { return closeWrite(c.Conn) }

// Close closes the connection and frees its slot.
func (c *clientConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.timer.Stop()
		c.proxy.mu.Lock()
		delete(c.proxy.open, c)
		c.proxy.mu.Unlock()
		<-c.proxy.clientSlots
	})
	return err
}

// resetIdle records the current time as the time of the last traffic.
func (c *clientConn) resetIdle() { c.lastUsed.Store(time.Now().UnixNano()) }

// closeIfIdle closes the connection after idleTimeout without traffic. Otherwise it restarts the timer.
func (c *clientConn) closeIfIdle() {
	if left := idleTimeout - time.Since(time.Unix(0, c.lastUsed.Load())); left > 0 {
		c.timer.Reset(left)
		return
	}
	_ = c.Close()
}

// boundClientConn is a client connection that is bound to one target. head is data of the client that was read ahead.
type boundClientConn struct {
	*clientConn
	head     []byte
	target   target
	decision Decision
}

// Read returns the data that was read ahead, then reads the connection.
func (b *boundClientConn) Read(into []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(into, b.head)
		b.head = b.head[n:]
		return n, nil
	}
	return b.clientConn.Read(into)
}

// clientConnKey is the context key of the client connection of a request, a *boundClientConn.
type clientConnKey struct{}

// withClientConn returns a context with the client connection, for its requests.
func withClientConn(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, clientConnKey{}, conn)
}

// queueListener is a net.Listener whose connections were accepted by other listeners.
type queueListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

// Accept waits for a connection.
func (q *queueListener) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

// enqueueConn passes a connection to Accept. It closes the connection if the queue is closed.
func (q *queueListener) enqueueConn(c net.Conn) {
	select {
	case q.conns <- c:
	case <-q.done:
		_ = c.Close()
	}
}

// Close makes Accept return an error.
func (q *queueListener) Close() error {
	q.once.Do(func() { close(q.done) })
	return nil
}

// Addr returns an empty address.
func (q *queueListener) Addr() net.Addr { return &net.TCPAddr{} }
