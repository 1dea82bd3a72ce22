package egress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
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
	if no, ok := errors.AsType[*refusal](err); ok {
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

func closeAll(conns ...io.Closer) {
	for _, c := range conns {
		if conn, ok := c.(net.Conn); ok && conn != nil {
			_ = conn.Close()
		}
	}
}
