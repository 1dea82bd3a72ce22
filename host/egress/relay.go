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
	"time"
)

// serveAllowedConn tunnels an allowed connection, terminates its TLS, or serves HTTP, as its first bytes require.
// outside is the connection to the server; nil if the proxy terminates TLS.
func (p *Proxy) serveAllowedConn(b *boundClientConn, outside net.Conn) {
	start := time.Now()
	_ = b.SetReadDeadline(start.Add(setupTimeout))
	o, err := readClientPreamble(b)
	_ = b.SetReadDeadline(time.Time{})
	b.head = append(o.head, b.head...) // data that readClientPreamble did not consume
	switch {
	case len(b.head) == 0:
		p.reportConn(b, start, 0, 0, fmt.Errorf("network: the client connected to %s and sent nothing", b.target.displayName()))
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrDeadlineExceeded):
		p.reportConn(b, start, 0, 0, err)
	case err != nil:
		p.reportRefusal(b.target, http.MethodConnect, newRefusalError(
			"network: refused a connection to %s, which begins with neither TLS nor HTTP", b.target.displayName()).Decision)
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
	sent, received, err := copyBothWays(b.Conn, outside, idleTimeout)
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
