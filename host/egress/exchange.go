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

// exchange is a request with its response.
type exchange struct {
	target
	scheme         string
	red            redactor
	decision       Decision
	sent, received atomic.Int64
	err            error
}

type exchangeKey struct{}

func (p *Proxy) newTransport() *http.Transport {
	return &http.Transport{
		DialContext:            p.dialRequest,
		TLSClientConfig:        &tls.Config{RootCAs: p.Roots, MinVersion: tls.VersionTLS12},
		ForceAttemptHTTP2:      true,
		DisableCompression:     true,
		MaxIdleConns:           p.Connections,
		MaxIdleConnsPerHost:    16,
		IdleConnTimeout:        time.Minute,
		TLSHandshakeTimeout:    wait,
		ResponseHeaderTimeout:  idle,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: 4 * maxHeader,
	}
}

func (p *Proxy) newReverse() *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Transport:     p.transport,
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0),
		Rewrite: func(r *httputil.ProxyRequest) {
			x := r.In.Context().Value(exchangeKey{}).(*exchange)
			r.Out.URL.Scheme, r.Out.URL.Host, r.Out.URL.User = x.scheme, x.String(), nil
			r.Out.URL.RawQuery, r.Out.URL.ForceQuery = r.In.URL.RawQuery, r.In.URL.ForceQuery
			r.Out.Host = x.authority(x.scheme)
			r.Out.Header.Del("Proxy-Connection")
			if len(x.red.pairs) > 0 {
				r.Out.Header.Set("Accept-Encoding", "identity")
				for _, h := range []string{"Range", "If-Range", "Sec-Websocket-Extensions"} {
					r.Out.Header.Del(h) // a value in parts, or in another form, isn't found
				}
			}
		},
		ModifyResponse: modifyResponse,
		ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
			x := r.Context().Value(exchangeKey{}).(*exchange)
			if no, ok := errors.AsType[*refusal](err); ok {
				x.decision = no.Decision
				answer(w, http.StatusForbidden, no)
				return
			}
			x.err = err
			http.Error(w, x.red.text(err.Error()), http.StatusBadGateway)
		},
	}
}

// modifyResponse redacts a response, and counts it.
func modifyResponse(resp *http.Response) error {
	x := resp.Request.Context().Value(exchangeKey{}).(*exchange)
	resp.Header.Del(errorHeader) // it is the proxy's
	body := &body{from: resp.Body, reader: resp.Body, count: &x.received}
	if len(x.red.pairs) > 0 {
		empty := resp.Request.Method == http.MethodHead || resp.StatusCode == http.StatusNotModified
		for _, encoding := range resp.Header.Values("Content-Encoding") {
			if !strings.EqualFold(encoding, "identity") && encoding != "" && !empty {
				return fmt.Errorf("network: %s sent %.32q though asked for no encoding, in which its secret can't be found",
					x.shown(), encoding)
			}
		}
		x.red.header(resp.Header)
		resp.Status = "" // the text is the server's
		body.reader = x.red.reader(resp.Body)
		body.end = func() { x.red.header(resp.Trailer) }
	}
	resp.Body = body
	if to, ok := body.from.(io.Writer); ok && resp.StatusCode == http.StatusSwitchingProtocols {
		resp.Body = &upgraded{body, to, &x.sent}
	}
	return nil
}

// body is what is read of a response.
type body struct {
	from   io.ReadCloser
	reader io.Reader // from, redacted
	count  *atomic.Int64
	end    func()
}

func (b *body) Read(into []byte) (int, error) {
	n, err := b.reader.Read(into)
	b.count.Add(int64(n))
	if err != nil && b.end != nil {
		b.end()
	}
	return n, err
}

func (b *body) Close() error { return b.from.Close() }

// exactly reads so many bytes and does not look for more. The transport does when it has sent a request's body, and the
// HTTP/1 server closes that with the first byte of the response: what the look found would be taken for a failure, and
// the rest of the response cut off.
type exactly struct {
	from io.Reader
	left int64
}

func (e *exactly) Read(into []byte) (int, error) {
	if e.left == 0 {
		return 0, io.EOF
	}
	n, err := e.from.Read(into[:min(int64(len(into)), e.left)])
	e.left -= int64(n)
	return n, err
}

// upgraded is a connection that was HTTP.
type upgraded struct {
	*body
	to   io.Writer
	sent *atomic.Int64
}

func (u *upgraded) Write(b []byte) (int, error) {
	n, err := u.to.Write(b)
	u.sent.Add(int64(n))
	return n, err
}

// CloseWrite ends what the server reads.
func (u *upgraded) CloseWrite() error {
	if half, ok := u.to.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return nil
}

// redactingWriter redacts the header of a response, also of one before the last.
type redactingWriter struct {
	http.ResponseWriter
	red redactor
}

func (w redactingWriter) WriteHeader(status int) {
	w.red.header(w.Header())
	w.ResponseWriter.WriteHeader(status)
}

// Unwrap gives an http.ResponseController what it controls.
func (w redactingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// plain serves a request to a proxy for a URL without TLS.
func (p *Proxy) plain(w http.ResponseWriter, r *http.Request) {
	if t, d, ok := p.admit(w, r, 80); ok {
		p.forward(w, r, t, d, "http")
	}
}

// serveInner serves a request on a connection to a target.
func (p *Proxy) serveInner(w http.ResponseWriter, r *http.Request) {
	b := r.Context().Value(foundKey{}).(*begun)
	t, scheme := b.target, "http"
	if r.TLS != nil {
		scheme = "https"
	}
	for _, host := range append(r.Header.Values("Host"), r.Host) {
		if asked, err := parseAuthority(host, standardPort(scheme)); err != nil || asked != t ||
			r.URL.Scheme != "" && r.URL.Scheme != scheme || r.Method == http.MethodConnect {
			no := refuse("network: refused a request for %.256q on a connection to %s", host, t.shown())
			p.refused(t, r.Method, no.Decision)
			answer(w, http.StatusMisdirectedRequest, no)
			return
		}
	}
	p.forward(w, r, t, b.decision, scheme)
}

// forward sends a request to its target, which has been agreed to.
func (p *Proxy) forward(w http.ResponseWriter, r *http.Request, t target, d Decision, scheme string) {
	if no, ok := p.Policy.method(t, r.Method); !ok {
		p.refused(t, r.Method, no)
		answer(w, http.StatusForbidden, &refusal{no, byMethod})
		return
	}
	x := &exchange{target: t, scheme: scheme, decision: d}
	var err error
	if x.red, err = put(p.secrets, t, r, scheme == "https"); err != nil {
		no := refuse("%v", err)
		p.refused(t, r.Method, no.Decision)
		answer(w, http.StatusForbidden, no)
		return
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		r.Header.Del("Upgrade") // HTTP/2 has requests that nobody would check
		r.Header.Del("Http2-Settings")
	}
	start := time.Now()
	defer func() {
		e := Event{Time: start, Host: t.host(), Port: t.port, Method: r.Method, Decision: x.decision,
			Sent: x.sent.Load(), Received: x.received.Load(), Duration: time.Since(start)}
		if x.err != nil {
			e.Err = x.red.text(x.err.Error())
		}
		p.report(e)
	}()
	if r.ContentLength != 0 {
		in := &body{from: r.Body, reader: r.Body, count: &x.sent}
		if r.ContentLength > 0 {
			in.reader = &exactly{r.Body, r.ContentLength}
		}
		r.Body = in
	}
	if len(x.red.pairs) > 0 {
		w = redactingWriter{w, x.red}
	}
	p.reverse.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), exchangeKey{}, x)))
}
