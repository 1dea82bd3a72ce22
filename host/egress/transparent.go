package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"time"
)

// serveWeb serves connections to addresses that stand for names.
func (p *Proxy) serveWeb(l net.Listener) {
	for {
		conn, err := l.Accept()
		switch {
		case err == nil:
			if p.enter() {
				go func() {
					defer p.wg.Done()
					p.transparent(conn.(*client))
				}()
			}
			continue
		case errors.Is(err, net.ErrClosed):
			return
		}
		select { // such as too many open files
		case <-p.ctx.Done():
			return
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// transparent serves a connection from a program that knows of no proxy.
func (p *Proxy) transparent(c *client) {
	local, err := netip.ParseAddrPort(c.LocalAddr().String())
	if err != nil {
		_ = c.Close()
		return
	}
	t := target{port: local.Port()}
	var ok bool
	if t.name, ok = p.names.lookup(local.Addr()); !ok {
		t.addr = local.Addr().Unmap()
		p.turnAway(&begun{client: c, target: t},
			refuse("network: refused %s, which stands for no name; look the name up again", t))
		return
	}
	d, no := p.agree(p.ctx, t)
	b := &begun{client: c, target: t, decision: d}
	if no != nil {
		p.turnAway(b, no)
		return
	}
	outside, err := p.reach(p.ctx, t)
	switch {
	case errors.As(err, &no):
		p.turnAway(b, no)
	case err != nil:
		p.ended(b, time.Now(), 0, 0, err)
		_ = c.Close()
	default:
		p.carry(b, outside)
	}
}

// turnAway tells a client that it is refused in a way that it understands, once it has said something.
func (p *Proxy) turnAway(b *begun, no *refusal) {
	p.refused(b.target, "", no.Decision)
	defer closeAll(b)
	_ = b.SetDeadline(time.Now().Add(wait))
	o, err := readOpening(b)
	if err == nil {
		p.tell(b, o, no)
	}
}

// tell writes a refusal as what the client speaks.
func (p *Proxy) tell(b *begun, o opening, no *refusal) {
	if o.secure {
		_, _ = b.Write(unrecognized[:])
		return
	}
	_, _ = fmt.Fprintf(b, "HTTP/1.1 403 Forbidden\r\n%s: %s\r\nContent-Type: text/plain; charset=utf-8\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s\n", errorHeader, no.code, len(no.Reason)+1, no.Reason)
	_ = b.CloseWrite()
}
