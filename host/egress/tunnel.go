package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// chunkSize is the number of bytes that a tunnel copies between two updates of its activity.
const chunkSize = 256 << 10

// CopyBothWays copies bytes in both directions until both sides have ended, one fails, or no data flows for the idle
// time. Between two TCP connections, the kernel copies.
func CopyBothWays(inside, outside net.Conn, idle time.Duration) (sent, received int64, err error) {
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

// serveAllowedConn tunnels an allowed connection, terminates its TLS, or serves HTTP, as the entry for its target and its
// first bytes require. outside is the connection to the server; nil if the proxy terminates TLS.
func (p *Proxy) serveAllowedConn(b *boundClientConn, outside net.Conn) {
	start := time.Now()
	if outside != nil && p.Policy.permitsAnyProtocol(b.target) {
		p.relayTunnel(b, outside, start)
		return
	}
	_ = b.SetReadDeadline(start.Add(setupTimeout))
	o, err := readClientPreamble(b)
	_ = b.SetReadDeadline(time.Time{})
	b.head = append(o.head, b.head...) // data that readClientPreamble did not consume
	waited := time.Since(start) > time.Second
	switch {
	case len(b.head) == 0 && (!waited || isStandardPort(b.target.port)):
		p.reportConn(b, start, 0, 0, fmt.Errorf("network: the client connected to %s and sent nothing", b.target.displayName()))
	case len(b.head) > 0 && (errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrDeadlineExceeded)):
		p.reportConn(b, start, 0, 0, err)
	case err != nil: // also of a client that waits for the server to begin
		no := newRefusalError("network: refused a connection to %s, which begins with neither TLS nor HTTP; setting network.allow, as tcp://%s",
			b.target.displayName(), FormatPortEntry(b.target.nameOrAddr(), b.target.port))
		no.Rule = b.decision.Rule
		p.reportRefusal(b.target, http.MethodConnect, no.Decision)
	case o.isTLS && !o.serverNameMatches(b.target):
		no := newRefusalError("network: refused TLS for %q on a connection to %s", o.serverName, b.target.displayName())
		p.reportRefusal(b.target, http.MethodConnect, no.Decision)
		p.writeRefusal(b, o, no)
	case o.isTLS && outside != nil:
		p.relayTunnel(b, outside, start)
		return
	case o.isTLS:
		if secure := p.terminateTLS(b); secure != nil {
			p.httpConns.enqueueConn(secure)
		}
		return
	default:
		closeConns(outside)
		p.httpConns.enqueueConn(b)
		return
	}
	closeConns(b, outside)
}

// relayTunnel copies bytes between client and server unchanged.
func (p *Proxy) relayTunnel(b *boundClientConn, outside net.Conn, start time.Time) {
	defer closeConns(b, outside)
	if !p.registerCloser(outside) {
		return
	}
	defer p.unregisterCloser(outside)
	head := int64(len(b.head))
	_ = outside.SetWriteDeadline(start.Add(2 * setupTimeout))
	if _, err := outside.Write(b.head); err != nil {
		p.reportConn(b, start, 0, 0, err)
		return
	}
	b.timer.Stop()
	sent, received, err := CopyBothWays(b.Conn, outside, idleTimeout)
	p.reportConn(b, start, head+sent, received, err)
}

// unregisterCloser reverses registerCloser and leaves c open.
func (p *Proxy) unregisterCloser(c io.Closer) {
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
	p.wg.Done()
}

// terminateTLS completes the TLS handshake with the client. It returns nil if the handshake fails, for example
// because the client does not trust the authority.
func (p *Proxy) terminateTLS(b *boundClientConn) net.Conn {
	start := time.Now()
	c := tls.Server(b, &tls.Config{
		MinVersion:             tls.VersionTLS12,
		NextProtos:             []string{"h2", "http/1.1"},
		SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return p.Authority.getOrIssueCert(b.target)
		},
	})
	ctx, cancel := context.WithTimeout(p.ctx, setupTimeout)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		err = fmt.Errorf("network: TLS handshake of a client for %s with the proxy: %w", b.target.displayName(), err)
		p.reportConn(b, start, 0, 0, err)
		closeConns(c)
		return nil
	}
	return c
}

func (p *Proxy) reportConn(b *boundClientConn, start time.Time, sent, received int64, err error) {
	e := ConnectionEvent{Time: start, Host: b.target.nameOrAddr(), Port: b.target.port, Method: http.MethodConnect,
		Decision: b.decision, Sent: sent, Received: received, Duration: time.Since(start)}
	if err != nil && p.ctx.Err() == nil {
		e.Err = err.Error()
	}
	p.reportEvent(e)
}
