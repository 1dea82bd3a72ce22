package egress

import (
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// busy is a listener that knows how many of its connections are open at once.
type busy struct {
	net.Listener
	open, most atomic.Int64
	accepted   chan struct{}
}

type busyConn struct {
	net.Conn
	l    *busy
	once atomic.Bool
}

func (l *busy) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.most.Store(max(l.most.Load(), l.open.Add(1)))
	l.accepted <- struct{}{}
	return &busyConn{Conn: c, l: l}, nil
}

func (c *busyConn) Close() error {
	if !c.once.Swap(true) {
		c.l.open.Add(-1)
	}
	return c.Conn.Close()
}

func TestConnectionsAreLimited(t *testing.T) {
	const room, clients = 8, 300
	s := newServers(t)
	port := s.startPlain(echo)
	p, err := NewProxy(ProxyOptions{Connections: room,
		Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}, Hosts: local("a.test")})})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	b := &busy{Listener: l, accepted: make(chan struct{}, clients+1)}
	p.StartServing(Listeners{Proxy: b})
	before := runtime.NumGoroutine()
	var conns []net.Conn
	for range clients {
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		conns = append(conns, c)
	}
	for range room + 1 { // one waits for room
		<-b.accepted
	}
	if n := runtime.NumGoroutine() - before; n > 5*room {
		t.Errorf("%d goroutines", n)
	}
	for _, c := range conns { // those in the room go, and all others get their turn
		fmt.Fprintf(c, "GET http://a.test:%s/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", port)
		_ = c.SetReadDeadline(time.Now().Add(20 * time.Second))
		if got, err := io.ReadAll(c); err != nil || !strings.HasPrefix(string(got), "HTTP/1.1 200") {
			t.Fatalf("%q, %v", got, err)
		}
	}
	if most := b.most.Load(); most > room+1 {
		t.Errorf("%d connections at once", most)
	}
}

func TestCloseEndsSlowBody(t *testing.T) {
	reached := make(chan bool)
	s := newServers(t)
	port := s.startPlain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached <- true
		_, err := io.Copy(io.Discard, r.Body)
		reached <- err != nil
	}))
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}, Hosts: local("a.test")})})
	_, _ = w.raw("POST http://a.test:" + port + "/ HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nabc")
	<-reached
	if err := w.Close(); err != nil {
		t.Error(err)
	}
	if !<-reached {
		t.Error("the server takes a part of the body for all of it")
	}
	if len(w.open) != 0 || len(w.clientSlots) != 0 {
		t.Error("connections are left", len(w.open), len(w.clientSlots))
	}
}

func TestSilentClientIsClosed(t *testing.T) {
	w := newServers(t).serve(ProxyOptions{Policy: compile(t, PolicyRules{})})
	ours, theirs := net.Pipe()
	defer ours.Close()
	c := &clientConn{Conn: theirs, proxy: w.Proxy, timer: time.NewTimer(time.Hour)}
	w.clientSlots <- struct{}{}
	c.resetIdle()
	if c.closeIfIdle(); len(w.clientSlots) != 1 {
		t.Error("a connection in use is closed")
	}
	c.lastUsed.Store(time.Now().Add(-2 * idleTimeout).UnixNano())
	if c.closeIfIdle(); len(w.clientSlots) != 0 {
		t.Error("an idle connection is left open")
	}
}

// tcpPair is two ends of a TCP connection.
func tcpPair(t testing.TB) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if a, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if b, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = a.Close(), b.Close() })
	return a, b
}

func TestHalfClosedTunnel(t *testing.T) {
	user, inside := tcpPair(t)
	outside, server := tcpPair(t)
	go func() {
		b, _ := io.ReadAll(server)
		fmt.Fprintf(server, "got %s", b)
		_ = server.Close()
	}()
	type result struct {
		sent, received int64
		err            error
	}
	done := make(chan result)
	go func() {
		s, r, err := CopyBothWays(inside, outside, time.Minute)
		done <- result{s, r, err}
	}()
	_, _ = io.WriteString(user, "hello")
	_ = user.(*net.TCPConn).CloseWrite()
	if b, err := io.ReadAll(user); string(b) != "got hello" || err != nil {
		t.Errorf("%q, %v", b, err)
	}
	if r := <-done; r != (result{5, 9, nil}) {
		t.Error(r)
	}
}

func TestTunnelReportsResetOfUnfinishedServer(t *testing.T) {
	for _, finished := range []bool{true, false} {
		user, inside := tcpPair(t)
		outside, server := tcpPair(t)
		done := make(chan error)
		go func() {
			_, _, err := CopyBothWays(inside, outside, time.Minute)
			done <- err
		}()
		if finished {
			_ = server.(*net.TCPConn).CloseWrite()
			_, _ = io.ReadAll(user)
		}
		_ = server.(*net.TCPConn).SetLinger(0)
		_ = server.Close()
		if finished {
			_, _ = io.WriteString(user, "more")
		}
		if err := <-done; (err == nil) != finished {
			t.Errorf("a server that finished: %v, and resets the connection: %v", finished, err)
		}
	}
}

func TestIdleTunnelIsClosed(t *testing.T) {
	_, inside := tcpPair(t)
	outside, _ := tcpPair(t)
	if _, _, err := CopyBothWays(inside, outside, time.Millisecond); err == nil {
		t.Error("no error")
	}
}

func TestCertificateAuthority(t *testing.T) {
	a, err := NewCertificateAuthority()
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(a.CertificatePEM()) {
		t.Fatal("no PEM")
	}
	first, err := a.getOrIssueCert(target{name: "a.test"})
	if err != nil {
		t.Fatal(err)
	}
	for host, fine := range map[string]bool{"a.test": true, "b.test": false} {
		_, err := first.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: host})
		if (err == nil) != fine {
			t.Error(host, err)
		}
	}
	if again, _ := a.getOrIssueCert(target{name: "a.test"}); again != first {
		t.Error("a certificate is issued twice")
	}
	for i := range 2 * maxIssued {
		a.issued[fmt.Sprint(i)] = first
	}
	if _, _ = a.getOrIssueCert(target{name: "c.test"}); len(a.issued) > maxIssued {
		t.Error("certificates are kept without end")
	}
}

func TestCertBundle(t *testing.T) {
	a, err := NewCertificateAuthority()
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewCertificateAuthority()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	missing, bad, good := filepath.Join(dir, "missing"), filepath.Join(dir, "bad"), filepath.Join(dir, "good")
	_ = os.WriteFile(bad, []byte("x"), 0o600)
	_ = os.WriteFile(good, other.CertificatePEM(), 0o600)
	b, err := buildCertBundle(a, []string{missing, good, bad})
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(b)
	for _, issuer := range []*CertificateAuthority{a, other} {
		c, err := issuer.getOrIssueCert(target{name: "a.test"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "a.test"}); err != nil {
			t.Error(err)
		}
	}
	for _, files := range [][]string{{missing}, {bad}} {
		if _, err := buildCertBundle(a, files); err == nil || !strings.Contains(err.Error(), "install") {
			t.Error(err)
		}
	}
	t.Setenv("SSL_CERT_FILE", good)
	if again, err := TrustedCertBundle(a); err != nil || string(again) != string(b) {
		t.Error(err)
	}
}
