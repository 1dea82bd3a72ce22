package egress

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// gate is a listener that accepts only as many connections as a proxy has room for. The others wait for the kernel to
// hand them over.
type gate struct {
	net.Listener
	p *Proxy
}

func (g gate) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err != nil {
		return nil, err
	}
	select {
	case g.p.room <- struct{}{}:
	case <-g.p.ctx.Done():
		_ = conn.Close()
		return nil, net.ErrClosed
	}
	c := &client{Conn: conn, p: g.p}
	c.touch()
	c.timer = time.AfterFunc(idle, c.expire)
	g.p.mu.Lock()
	over := g.p.over
	g.p.open[c] = true
	g.p.mu.Unlock()
	if over {
		_ = c.Close()
		return nil, net.ErrClosed
	}
	return c, nil
}

// client is a connection from the sandbox. It is closed when it has been idle for long.
type client struct {
	net.Conn
	p     *Proxy
	timer *time.Timer
	used  atomic.Int64 // when, in nanoseconds
	once  sync.Once
}

func (c *client) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.touch()
	return n, err
}

func (c *client) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	c.touch()
	return n, err
}

// CloseWrite ends what the other side reads.
func (c *client) CloseWrite() error { return closeWrite(c.Conn) }

func (c *client) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() {
		c.timer.Stop()
		c.p.mu.Lock()
		delete(c.p.open, c)
		c.p.mu.Unlock()
		<-c.p.room
	})
	return err
}

func (c *client) touch() { c.used.Store(time.Now().UnixNano()) }

// expire closes a connection unless it has been used.
func (c *client) expire() {
	if left := idle - time.Since(time.Unix(0, c.used.Load())); left > 0 {
		c.timer.Reset(left)
		return
	}
	_ = c.Close()
}

// begun is a connection of which the beginning has been read.
type begun struct {
	*client
	head     []byte
	target   target
	decision Decision
}

func (b *begun) Read(into []byte) (int, error) {
	if len(b.head) > 0 {
		n := copy(into, b.head)
		b.head = b.head[n:]
		return n, nil
	}
	return b.client.Read(into)
}

type foundKey struct{}

// withFound has the requests on a connection know what it is to.
func withFound(ctx context.Context, conn net.Conn) context.Context {
	if secure, ok := conn.(*tls.Conn); ok {
		conn = secure.NetConn()
	}
	return context.WithValue(ctx, foundKey{}, conn)
}

// queue is a listener for connections that have been accepted elsewhere.
type queue struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func (q *queue) Accept() (net.Conn, error) {
	select {
	case c := <-q.conns:
		return c, nil
	case <-q.done:
		return nil, net.ErrClosed
	}
}

// put hands a connection over.
func (q *queue) put(c net.Conn) {
	select {
	case q.conns <- c:
	case <-q.done:
		_ = c.Close()
	}
}

func (q *queue) Close() error {
	q.once.Do(func() { close(q.done) })
	return nil
}

func (q *queue) Addr() net.Addr { return &net.TCPAddr{} }
