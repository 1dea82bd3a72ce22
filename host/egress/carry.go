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

// carry carries a connection that has been agreed to. The one to the outside is nil if it is to be looked into.
func (p *Proxy) carry(b *begun, outside net.Conn) {
	start := time.Now()
	_ = b.SetReadDeadline(start.Add(wait))
	o, err := readOpening(b)
	_ = b.SetReadDeadline(time.Time{})
	b.head = append(o.head, b.head...) // what readOpening has left of it
	switch {
	case len(b.head) == 0:
		p.ended(b, start, 0, 0, fmt.Errorf("network: %s was connected to, and nothing was said", b.target.shown()))
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, os.ErrDeadlineExceeded):
		p.ended(b, start, 0, 0, err)
	case err != nil:
		p.refused(b.target, http.MethodConnect, refuse(
			"network: refused a connection to %s, as it begins with neither TLS nor HTTP", b.target.shown()).Decision)
	case o.secure && !o.matches(b.target):
		no := refuse("network: refused TLS for %q on a connection to %s", o.name, b.target.shown())
		p.refused(b.target, http.MethodConnect, no.Decision)
		p.tell(b, o, no)
	case o.secure && outside != nil:
		p.through(b, outside, start)
		return
	case o.secure:
		if secure := p.terminate(b); secure != nil {
			p.found.put(secure)
		}
		return
	default:
		closeAll(outside)
		p.found.put(b)
		return
	}
	closeAll(b, outside)
}

// through carries bytes without a look at them.
func (p *Proxy) through(b *begun, outside net.Conn, start time.Time) {
	defer closeAll(b, outside)
	if !p.keep(outside) {
		return
	}
	defer p.drop(outside)
	head := int64(len(b.head))
	_ = outside.SetWriteDeadline(start.Add(2 * wait))
	if _, err := outside.Write(b.head); err != nil {
		p.ended(b, start, 0, 0, err)
		return
	}
	b.timer.Stop()
	sent, received, err := tunnel(b.Conn, outside, idle)
	p.ended(b, start, head+sent, received, err)
}

// drop forgets what keep has kept.
func (p *Proxy) drop(c io.Closer) {
	p.mu.Lock()
	delete(p.open, c)
	p.mu.Unlock()
	p.wg.Done()
}

// terminate ends TLS here; nil if the client doesn't go along, for one because it doesn't know the authority.
func (p *Proxy) terminate(b *begun) net.Conn {
	start := time.Now()
	c := tls.Server(b, &tls.Config{
		MinVersion:             tls.VersionTLS12,
		NextProtos:             []string{"h2", "http/1.1"},
		SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return p.Authority.issue(b.target)
		},
	})
	ctx, cancel := context.WithTimeout(p.ctx, wait)
	defer cancel()
	if err := c.HandshakeContext(ctx); err != nil {
		err = fmt.Errorf("network: TLS of a client for %s, which ends at the proxy: %w", b.target.shown(), err)
		p.ended(b, start, 0, 0, err)
		closeAll(c)
		return nil
	}
	return c
}

// ended reports a connection that has ended.
func (p *Proxy) ended(b *begun, start time.Time, sent, received int64, err error) {
	e := Event{Time: start, Host: b.target.host(), Port: b.target.port, Method: http.MethodConnect,
		Decision: b.decision, Sent: sent, Received: received, Duration: time.Since(start)}
	if err != nil && p.ctx.Err() == nil {
		e.Err = err.Error()
	}
	p.report(e)
}
