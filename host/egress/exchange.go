package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"time"
)

// httpExchange is an HTTP request to a target, with counts for its report.
type httpExchange struct {
	target
	scheme         string
	redactor       redactor
	decision       Decision
	sent, received atomic.Int64
	err            error
}

// exchangeKey is the context key of an *httpExchange.
type exchangeKey struct{}

func (p *Proxy) newTransport() *http.Transport {
	return &http.Transport{
		DialContext:            p.dialForRequest,
		TLSClientConfig:        &tls.Config{RootCAs: p.Roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           p.Connections,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        time.Minute,
		TLSHandshakeTimeout:    setupTimeout,
		ResponseHeaderTimeout:  idleTimeout,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 4 * maxHeader,
	}
}

// newReverseProxy returns the handler that forwards the requests whose context holds an httpExchange.
func (p *Proxy) newReverseProxy() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     p.transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			x := r.In.Context().Value(exchangeKey{}).(*httpExchange)
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.URL.User = x.scheme, x.String(), nil
			r.Out.URL.RawQuery, r.Out.URL.ForceQuery = r.In.URL.RawQuery, r.In.URL.ForceQuery
			r.Out.Host = x.hostHeader(x.scheme)
			r.Out.Header.Del("Proxy-Connection")
			if len(x.redactor.secrets) > 0 {
				r.Out.Header.Set("Accept-Encoding", "identity")
				for _, h := range []string{"Range", "If-Range", "Sec-Websocket-Extensions"} {
					r.Out.Header.Del(h) // partial or compressed values could not be redacted
				}
			}
		},
		ModifyResponse: redactAndCountResponse,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			x := r.Context().Value(exchangeKey{}).(*httpExchange)
			if refused, ok := errors.AsType[*refusalError](err); ok {
				x.decision = refused.Decision
				writeHTTPRefusal(w, http.StatusForbidden, refused)
				return
			}
			x.err = err
			http.Error(w, x.redactor.redactText(err.Error()), http.StatusBadGateway)
		},
	}
}

// redactAndCountResponse redacts secrets in a response and counts its bytes.
func redactAndCountResponse(resp *http.Response) error {
	x := resp.Request.Context().Value(exchangeKey{}).(*httpExchange)
	resp.Header.Del(errorHeader) // reserved for the proxy
	body := &countingBody{body: resp.Body, reader: resp.Body, count: &x.received}
	if len(x.redactor.secrets) > 0 {
		empty := resp.Request.Method == http.MethodHead || resp.StatusCode == http.StatusNotModified
		for _, encoding := range resp.Header.Values("Content-Encoding") {
			if !strings.EqualFold(encoding, "identity") && encoding != "" && !empty {
				return fmt.Errorf(cantPrefix+"redact the secret in the response of %s, which has the encoding %.32q",
					x.displayName(), encoding)
			}
		}
		x.redactor.redactHeader(resp.Header)
		resp.Status = "" // the reason phrase comes from the server
		body.reader = x.redactor.newRedactingReader(resp.Body)
		body.onEnd = func() { x.redactor.redactHeader(resp.Trailer) }
	}
	resp.Body = body
	if to, ok := body.body.(io.Writer); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = &upgradedConn{body, to, &x.sent}
	}
	return nil
}

// countingBody is a request or response body that counts its bytes.
type countingBody struct {
	body   io.ReadCloser
	reader io.Reader // body, redacted if necessary
	count  *atomic.Int64
	onEnd  func()
}

// Read reads and counts bytes. At the end of the body it calls onEnd.
func (b *countingBody) Read(into []byte) (int, error) {
	n, err := b.reader.Read(into)
	b.count.Add(int64(n))
	if err != nil && b.onEnd != nil {
		b.onEnd()
	}
	return n, err
}

// Close closes the underlying body.
func (b *countingBody) Close() error { return b.body.Close() }

// upgradedConn is a connection to a server that was upgraded from HTTP, for example to WebSocket.
type upgradedConn struct {
	*countingBody
	server io.Writer
	sent   *atomic.Int64
}

// Write sends bytes to the server and counts them.
func (u *upgradedConn) Write(b []byte) (int, error) {
	n, err := u.server.Write(b)
	u.sent.Add(int64(n))
	return n, err
}

// CloseWrite closes the sending direction to the server.
func (u *upgradedConn) CloseWrite() error {
	if half, ok := u.server.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// redactingResponseWriter redacts the headers of responses, including interim (1xx) responses.
type redactingResponseWriter struct {
	http.ResponseWriter
	redactor redactor
}

// WriteHeader redacts the header and writes it.
func (w redactingResponseWriter) WriteHeader(status int) {
	w.redactor.redactHeader(w.Header())
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap returns the underlying writer for http.ResponseController.
func (w redactingResponseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// serveTargetRequest forwards a request on a connection to one target. It refuses a request for another host.
func (p *Proxy) serveTargetRequest(w http.ResponseWriter, r *http.Request) {
	b := r.Context().Value(clientConnKey{}).(*boundClientConn)
	t, scheme := b.target, "http"
	if r.TLS != nil {
		scheme = "https"
	}
	for _, host := range append(r.Header.Values("Host"), r.Host) {
		if named, err := parseHostPort(host, schemePort(scheme)); err != nil || named != t ||
			r.URL.Scheme != "" && r.URL.Scheme != scheme || r.Method == http.MethodConnect {
			refused := newRefusalError("network: refused a request for %.256q on a connection to %s", host, t.displayName())
			p.reportRefusal(t, r.Method, refused.Decision)
			writeHTTPRefusal(w, http.StatusMisdirectedRequest, refused)
			return
		}
	}
	p.forwardRequest(w, r, t, b.decision, scheme)
}

// forwardRequest forwards a request to its target. The caller has checked the target.
func (p *Proxy) forwardRequest(w http.ResponseWriter, r *http.Request, t target, d Decision, scheme string) {
	decided := p.Policy.decideRequest(t, r.Method, r.URL.EscapedPath())
	if decided.Verdict == Deny {
		p.reportRefusal(t, r.Method, decided)
		writeHTTPRefusal(w, http.StatusForbidden, &refusalError{decided, codeMethod})
		return
	}
	if decided.Rule != "" {
		for _, name := range overrideHeaders {
			r.Header.Del(name)
		}
	}
	x := &httpExchange{target: t, scheme: scheme, decision: d}
	secrets, err := fetchSecrets(r.Context(), p.secrets, t)
	if err == nil {
		x.redactor, err = injectSecrets(secrets, t, r, scheme == "https")
	}
	if err != nil {
		refused := newRefusalError("%v", err)
		p.reportRefusal(t, r.Method, refused.Decision)
		writeHTTPRefusal(w, http.StatusForbidden, refused)
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		r.Header.Del("Upgrade") // other protocols, as h2c, would bypass the checks
		r.Header.Del("Http2-Settings")
	}
	start := time.Now()
	defer func() {
		e := ConnectionEvent{Time: start, Host: t.nameOrAddr(), Port: t.port, Method: r.Method, Decision: x.decision,
			Sent: x.sent.Load(), Received: x.received.Load(), Duration: time.Since(start)}
		if x.err != nil {
			e.Err = x.redactor.redactText(x.err.Error())
		}
		p.reportEvent(e)
	}()
	if r.ContentLength != 0 {
		in := &countingBody{body: r.Body, reader: r.Body, count: &x.sent}
		if r.ContentLength > 0 {
			// It returns EOF without another read of the body. The transport would make that read after the HTTP/1 server
			// has closed the body, see it fail, and cut off the response.
			in.reader = io.LimitReader(r.Body, r.ContentLength)
		}
		r.Body = in
	}
	if len(x.redactor.secrets) > 0 {
		w = redactingResponseWriter{w, x.redactor}
	}
	p.reverseProxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}
