package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// acceptTransparentConns accepts and serves connections to loopback and to addresses that the DNS server has assigned.
func (p *Proxy) acceptTransparentConns(l net.Listener) {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			if p.addToWaitGroup() {
				go func() {
					defer p.wg.Done()
					p.serveTransparentConn(conn.(*clientConn))
				}()
			}
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		select { // for example, too many open files
		case <-p.ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// serveTransparentConn serves a connection of a client that does not use the proxy protocol. The local address
// identifies the target: an assigned address, or loopback for this machine.
func (p *Proxy) serveTransparentConn(c *clientConn) {
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		_ = c.Close()
		return
	}
	t := target{addr: local.Addr().Unmap(), port: local.Port()}
	if name, ok := p.dns.nameOfAddr(t.addr); ok {
		t = target{name: name, port: t.port}
	} else if t.isLoopback() {
		if named := (target{name: localhost, port: t.port}); p.Policy.decideTarget(named).Rule != "" ||
			p.Policy.decideTarget(t).Rule == "" {
			t = named
		}
	} else {
		p.refuseConn(&boundClientConn{clientConn: c, target: t},
			newRefusalError("network: refused %s, which is assigned to no name; resolve the name again", t))
		return
	}
	d, refused := p.decideOrAsk(p.ctx, t)
	b := &boundClientConn{clientConn: c, target: t, decision: d}
	if refused != nil {
		p.refuseConn(b, refused)
		return
	}
	outside, err := p.dialUnlessTerminatingTLS(p.ctx, t)
	switch {
	case errors.As(err, &refused):
		p.refuseConn(b, refused)
	case err != nil:
		p.reportConn(b, time.Now(), 0, 0, err)
		_ = c.Close()
	case outside != nil && t.isLoopback(): // any protocol
		p.relayTunnel(b, outside, time.Now())
	default:
		p.serveAllowedConn(b, outside)
	}
}

// refuseConn reports a refused connection. Once the client has sent data, it answers in the client's protocol.
func (p *Proxy) refuseConn(b *boundClientConn, refused *refusalError) {
	p.reportRefusal(b.target, "", refused.Decision)
	defer closeConns(b)
	_ = b.SetDeadline(time.Now().Add(setupTimeout))
	o, err := readClientPreamble(b)
	if err == nil {
		p.writeRefusal(b, o, refused)
	}
}

// writeRefusal sends a refusal to a client, as a TLS alert or an HTTP response.
func (p *Proxy) writeRefusal(b *boundClientConn, o clientPreamble, refused *refusalError) {
	if o.isTLS {
		_, _ = b.Write(unrecognizedNameAlert[:])
		return
	}
	_, _ = fmt.Fprintf(b, "HTTP/1.1 403 Forbidden\r\n%s: %s\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s\n", errorHeader, refused.errorCode, len(refused.Reason)+1, refused.Reason)
	_ = b.CloseWrite()
}
