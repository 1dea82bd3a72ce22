package egress

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"time"
)

// serveFront serves what programs send to a proxy.
func (p *Proxy) serveFront(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		p.plain(w, r)
	default:
		http.Error(w, "network: this is a proxy; send CONNECT, or a request for an http:// URL", http.StatusBadRequest)
	}
}

// connect serves CONNECT.
func (p *Proxy) connect(w http.ResponseWriter, r *http.Request) {
	t, d, ok := p.admit(w, r, 0)
	if !ok {
		return
	}
	outside, err := p.reach(r.Context(), t)
	if err != nil {
		p.fail(w, t, r.Method, d, err)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		closeAll(outside)
		return
	}
	c, ok := conn.(*client)
	if !ok {
		closeAll(conn, outside)
		return
	}
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	b := &begun{client: c, head: bytes.Clone(early), target: t, decision: d}
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		closeAll(c, outside)
		return
	}
	p.carry(b, outside)
}

// admit decides on the target of a request to a proxy, and answers if it is refused.
func (p *Proxy) admit(w http.ResponseWriter, r *http.Request, port uint16) (target, Decision, bool) {
	t, err := parseAuthority(r.Host, port)
	if r.URL.User != nil {
		err = fmt.Errorf("%q has a user in front of the host", r.RequestURI)
	}
	if err != nil {
		bad := refuse("network: refused, as %v", err)
		p.refused(target{name: r.Host, port: t.port}, r.Method, bad.Decision)
		answer(w, http.StatusForbidden, bad)
		return t, bad.Decision, false
	}
	d, no := p.agree(r.Context(), t)
	if no != nil {
		p.refused(t, r.Method, d)
		answer(w, http.StatusForbidden, no)
	}
	return t, d, no == nil
}

// reach connects to a target, unless the connection is to be looked into first.
func (p *Proxy) reach(ctx context.Context, t target) (net.Conn, error) {
	addrs, err := p.resolve(ctx, t)
	if err != nil || p.intercepts(t) {
		return nil, err
	}
	return p.dial(ctx, t, addrs)
}

// fail answers a request whose target can't be connected to.
func (p *Proxy) fail(w http.ResponseWriter, t target, method string, d Decision, err error) {
	var no *refusal
	if errors.As(err, &no) {
		p.refused(t, method, no.Decision)
		answer(w, http.StatusForbidden, no)
		return
	}
	p.report(Event{Time: time.Now(), Host: t.host(), Port: t.port, Method: method, Decision: d, Err: err.Error()})
	http.Error(w, err.Error(), http.StatusBadGateway)
}

// answer tells a client that it is refused.
func answer(w http.ResponseWriter, status int, no *refusal) {
	w.Header().Set(errorHeader, no.code)
	http.Error(w, no.Reason, status)
}

// errorHeader tells programs by what they are refused.
const errorHeader = "X-Proxy-Error"

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
		p.found.put(p.terminate(b))
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

// terminate ends TLS here.
func (p *Proxy) terminate(b *begun) net.Conn {
	return tls.Server(b, &tls.Config{
		MinVersion:             tls.VersionTLS12,
		NextProtos:             []string{"h2", "http/1.1"},
		SessionTicketsDisabled: true,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return p.Authority.issue(b.target)
		},
	})
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

func closeAll(conns ...io.Closer) {
	for _, c := range conns {
		if conn, ok := c.(net.Conn); ok && conn != nil {
			_ = conn.Close()
		}
	}
}
