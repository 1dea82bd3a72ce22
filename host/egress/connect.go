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

// serveProxyRequest serves a request of an HTTP proxy client: a CONNECT request, or a request for an http URL.
func (p *Proxy) serveProxyRequest(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.serveConnectRequest(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		if t, d, ok := p.admitRequest(w, r, 80); ok {
			p.forwardRequest(w, r, t, d, "http")
		}
	default:
		http.Error(w, "network: this is a proxy; send CONNECT, or a request for an http:// URL", http.StatusBadRequest)
	}
}

// serveConnectRequest serves a CONNECT request: it connects to the target and relays the connection.
func (p *Proxy) serveConnectRequest(w http.ResponseWriter, r *http.Request) {
	t, d, ok := p.admitRequest(w, r, 0)
	if !ok {
		return
	}
	outside, err := p.dialUnlessTerminatingTLS(r.Context(), t)
	if err != nil {
		p.answerFailedRequest(w, t, r.Method, d, err)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		closeConns(outside)
		return
	}
	c, ok := conn.(*clientConn)
	if !ok {
		closeConns(conn, outside)
		return
	}
	early, _ := buffered.Peek(buffered.Reader.Buffered())
	b := &boundClientConn{clientConn: c, head: bytes.Clone(early), target: t, decision: d}
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		closeConns(c, outside)
		return
	}
	p.serveAllowedConn(b, outside)
}

// admitRequest decides on the target of a proxy request. It answers a refused request and returns false.
func (p *Proxy) admitRequest(w http.ResponseWriter, r *http.Request, port uint16) (target, Decision, bool) {
	t, err := parseHostPort(r.Host, port)
	if r.URL.User != nil {
		err = fmt.Errorf("%q has a user name before the host", r.RequestURI)
	}
	if err != nil {
		bad := newRefusalError("network: refused, as %v", err)
		p.reportRefusal(target{name: r.Host, port: t.port}, r.Method, bad.Decision)
		writeHTTPRefusal(w, http.StatusForbidden, bad)
		return t, bad.Decision, false
	}
	d, refused := p.decideOrAsk(r.Context(), t)
	if refused != nil {
		p.reportRefusal(t, r.Method, d)
		writeHTTPRefusal(w, http.StatusForbidden, refused)
	}
	return t, d, refused == nil
}

// dialUnlessTerminatingTLS connects to a target. If the proxy terminates its TLS, it only checks the addresses.
func (p *Proxy) dialUnlessTerminatingTLS(ctx context.Context, t target) (net.Conn, error) {
	addrs, err := p.resolveAllowedAddrs(ctx, t)
	if err != nil || p.terminatesTLS(t) {
		return nil, err
	}
	return p.dialFirstReachable(ctx, t, addrs)
}

// answerFailedRequest answers a request whose target was refused or could not be reached, and reports the failure.
func (p *Proxy) answerFailedRequest(w http.ResponseWriter, t target, method string, d Decision, err error) {
	if refused, ok := errors.AsType[*refusalError](err); ok {
		p.reportRefusal(t, method, refused.Decision)
		writeHTTPRefusal(w, http.StatusForbidden, refused)
		return
	}
	p.reportEvent(ConnectionEvent{Time: time.Now(), Host: t.nameOrAddr(), Port: t.port, Method: method, Decision: d, Err: err.Error()})
	http.Error(w, err.Error(), http.StatusBadGateway)
}

func writeHTTPRefusal(w http.ResponseWriter, status int, refused *refusalError) {
	w.Header().Set(errorHeader, refused.errorCode)
	http.Error(w, refused.Reason, status)
}

// errorHeader is the response header with the kind of a refusal, for programs.
const errorHeader = "X-Proxy-Error"

func closeConns(conns ...io.Closer) {
	for _, c := range conns {
		if conn, ok := c.(net.Conn); ok && conn != nil {
			_ = conn.Close()
		}
	}
}
