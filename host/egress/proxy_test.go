package egress

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"
)

// world is a proxy with servers that it may be asked for, and the events that it reports.
type testProxy struct {
	testing.TB
	*Proxy
	address string // of the proxy
	web     string // port of the transparent listener
	dns     string
	events  chan ConnectionEvent
	roots   *x509.CertPool // of the sandbox
}

// servers is an authority that the proxy believes.
type servers struct {
	testing.TB
	*CertificateAuthority
}

func newServers(t testing.TB) servers {
	t.Helper()
	a, err := NewCertificateAuthority()
	if err != nil {
		t.Fatal(err)
	}
	return servers{t, a}
}

// start starts a server with a certificate for a name, and returns its port.
func (s servers) start(name string, h http.Handler) (port string) {
	s.Helper()
	at, err := parseHost(name, 0)
	if err != nil {
		s.Fatal(err)
	}
	cert, err := s.getOrIssueCert(at)
	if err != nil {
		s.Fatal(err)
	}
	server := httptest.NewUnstartedServer(h)
	if at.addr.Is6() {
		_ = server.Listener.Close()
		if server.Listener, err = net.Listen("tcp", "[::1]:0"); err != nil {
			s.Skip("no IPv6 here")
		}
	}
	server.EnableHTTP2 = true
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}}
	server.StartTLS()
	s.Cleanup(server.Close)
	return portOf(server.Listener.Addr())
}

// startPlain starts a server without TLS.
func (s servers) startPlain(h http.Handler) (port string) {
	server := httptest.NewServer(h)
	s.Cleanup(server.Close)
	return portOf(server.Listener.Addr())
}

func portOf(a net.Addr) string {
	_, port, _ := net.SplitHostPort(a.String())
	return port
}

func compile(t testing.TB, r PolicyRules) *Policy {
	t.Helper()
	p, err := CompilePolicy(r)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// serve starts a proxy that believes the servers.
func (s servers) serve(o ProxyOptions) *testProxy {
	s.Helper()
	ours, err := NewCertificateAuthority()
	if err != nil {
		s.Fatal(err)
	}
	w := &testProxy{TB: s.TB, events: make(chan ConnectionEvent, 4096), roots: x509.NewCertPool()}
	w.roots.AppendCertsFromPEM(s.CertificatePEM())
	w.roots.AppendCertsFromPEM(ours.CertificatePEM())
	o.Authority = ours
	o.Roots = s.pool()
	o.Report = func(e ConnectionEvent) { w.events <- e }
	if w.Proxy, err = NewProxy(o); err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = w.Close() })
	front, err1 := net.Listen("tcp", "127.0.0.1:0")
	web, err2 := net.Listen("tcp", "0.0.0.0:0")
	dns, err3 := net.ListenPacket("udp", "127.0.0.1:0")
	if err1 != nil || err2 != nil || err3 != nil {
		s.Fatal(err1, err2, err3)
	}
	w.address, w.web, w.dns = front.Addr().String(), portOf(web.Addr()), dns.LocalAddr().String()
	w.StartServing(Listeners{Proxy: front, Web: []net.Listener{web}, Names: dns})
	return w
}

// client is a program in the sandbox that uses the proxy.
func (w *testProxy) client() *http.Client {
	tr := &http.Transport{
		Proxy:             http.ProxyURL(&url.URL{Scheme: "http", Host: w.address}),
		TLSClientConfig:   &tls.Config{RootCAs: w.roots},
		ForceAttemptHTTP2: true,
		DisableKeepAlives: true,
	}
	return &http.Client{Transport: tr}
}

// event waits for an event that f is true of.
func (w *testProxy) event(f func(ConnectionEvent) bool) ConnectionEvent {
	w.Helper()
	guard := time.After(20 * time.Second)
	for {
		select {
		case e := <-w.events:
			if f(e) {
				return e
			}
		case <-guard:
			w.Fatal("the event has not been reported")
		}
	}
}

// refusal waits for a refusal.
func (w *testProxy) refusal() ConnectionEvent {
	w.Helper()
	return w.event(func(e ConnectionEvent) bool { return e.Decision.Verdict == Deny })
}

// raw opens a connection to the proxy and writes a text to it.
func (w *testProxy) raw(text string) (net.Conn, *bufio.Reader) {
	w.Helper()
	c, err := net.Dial("tcp", w.address)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, text); err != nil {
		w.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// connect opens a connection to a target through the proxy.
func (w *testProxy) connect(target string) (net.Conn, *bufio.Reader) {
	w.Helper()
	c, r := w.raw("CONNECT " + target + " HTTP/1.1\r\nHost: " + target + "\r\n\r\n")
	resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil || resp.StatusCode != http.StatusOK {
		w.Fatal("CONNECT", target, resp, err)
	}
	return c, r
}

// status reads a response and returns its status and body.
func status(t testing.TB, r *bufio.Reader) (int, string) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// do sends a request and returns its response with the body read.
func (w *testProxy) do(c *http.Client, r *http.Request) (*http.Response, string) {
	w.Helper()
	resp, err := c.Do(r)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		w.Fatal(err)
	}
	return resp, string(body)
}

func request(t testing.TB, method, url string, header ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequest(method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range header {
		key, value, _ := strings.Cut(h, ": ")
		r.Header.Set(key, value)
	}
	return r
}

// local are the resolver's entries that lead to the servers of a test.
func local(names ...string) map[string][]string {
	m := map[string][]string{}
	for _, n := range names {
		m[n] = []string{"127.0.0.1"}
	}
	return m
}

// echo answers with what it got.
var echo = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.URL.RequestURI(), body)
})

// pool has the authority.
func (s servers) pool() *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(s.CertificatePEM())
	return p
}
