package egress

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// secure opens TLS to a server through the proxy.
func (w *testProxy) secure(url string) net.Conn {
	w.Helper()
	host := strings.TrimPrefix(url, "https://")
	c, _ := w.connect(host)
	name, _, _ := net.SplitHostPort(host)
	secure := tls.Client(c, &tls.Config{RootCAs: w.roots, ServerName: name})
	if err := secure.Handshake(); err != nil {
		w.Fatal(err)
	}
	return secure
}

func TestTunnel(t *testing.T) {
	s := newServers(t)
	port := s.start("a.test", echo)
	six := s.start("::1", echo)
	asked := 0
	w := s.serve(ProxyOptions{
		Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port, "[::1/128]:" + six}, Ask: []string{"ask.test:" + port},
			Hosts: local("a.test", "ask.test")}),
		Ask: func(_ context.Context, host string, _ uint16) bool { asked++; return host == "ask.test" },
	})
	body := strings.Repeat("x", 3*chunkSize)
	resp, err := w.client().Post("https://a.test:"+port+"/p?q=1;2", "", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(resp.Body)
	if want := "POST a.test:" + port + " /p?q=1;2 " + body; string(got) != want {
		t.Errorf("%.100s", got)
	}
	if resp.TLS.VerifiedChains[0][1].Subject.CommonName != s.ca.Certificate.Subject.CommonName {
		t.Error("TLS to a host without secrets ends at the proxy")
	}
	e := w.event(func(e ConnectionEvent) bool { return e.Host == "a.test" })
	if e.Method != http.MethodConnect || e.Err != "" || e.Sent < 3*chunkSize || e.Received < 3*chunkSize || e.Decision.Verdict != Allow {
		t.Errorf("%+v", e)
	}
	if _, body := w.do(w.client(), request(t, "GET", "https://[::1]:"+six)); !strings.Contains(body, "GET [::1]:") {
		t.Error(body)
	}
	tr := w.client()
	tr.Transport.(*http.Transport).TLSClientConfig.InsecureSkipVerify = true
	_, answered := w.do(tr, request(t, "GET", "https://ask.test:"+port))
	if !strings.Contains(answered, "GET ask.test") || asked != 1 {
		t.Error(answered, asked)
	}
}

// TestUntrustedServer has a server show a certificate for another name.
func TestUntrustedServer(t *testing.T) {
	s := newServers(t)
	port := s.start("b.test", echo)
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}, Hosts: local("a.test")}),
		Secrets: []Secret{token("a.test:" + port)}})
	if resp, body := w.do(w.client(), request(t, "GET", "https://a.test:"+port)); resp.StatusCode != http.StatusBadGateway {
		t.Error(resp.StatusCode, body)
	}
	e := w.event(func(e ConnectionEvent) bool { return e.Err != "" })
	if !strings.Contains(e.Err, "certificate is valid for b.test") {
		t.Errorf("%+v", e)
	}
}

// TestUntrustedAuthority has a client not know whom the proxy's certificates are from.
func TestUntrustedAuthority(t *testing.T) {
	s := newServers(t)
	port := s.start("a.test", echo)
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}, Hosts: local("a.test")}),
		Secrets: []Secret{token("a.test:" + port)}})
	c, _ := w.connect("a.test:" + port)
	if tls.Client(c, &tls.Config{ServerName: "a.test", RootCAs: s.pool()}).Handshake() == nil {
		t.Fatal("trusted")
	}
	if e := w.event(func(e ConnectionEvent) bool { return e.Err != "" }); !strings.Contains(e.Err, "TLS handshake of a client") {
		t.Errorf("%+v", e)
	}
}

func TestRequestBeforeConnectAnswer(t *testing.T) {
	s := newServers(t)
	port := s.startPlain(echo)
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}, Hosts: local("a.test")})})
	rest := strings.Repeat("y", 10_000)
	_, r := w.raw("CONNECT a.test:" + port + " HTTP/1.1\r\nHost: x\r\n\r\n" +
		"POST /p%2Fq?a;b&%zz HTTP/1.1\r\nHost: a.test:" + port + "\r\nContent-Length: 10000\r\n\r\n" + rest)
	if resp, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect}); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatal(resp, err)
	}
	if code, body := status(t, r); code != 200 || body != "POST a.test:"+port+" /p%2Fq?a;b&%zz "+rest {
		t.Errorf("%d %.200s", code, body)
	}
}

func TestUnreachableServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := portOf(l.Addr())
	_ = l.Close()
	w := newServers(t).serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port, "b.test"},
		Hosts: map[string][]string{"a.test": {"127.0.0.1", "::1"}}}),
		resolver: &counting{f: func(string, int64) []string { return nil }}})
	for target, want := range map[string]string{
		"a.test:" + port: "can't connect to", "b.test:443": "can't resolve",
	} {
		_, r := w.raw("CONNECT " + target + " HTTP/1.1\r\nHost: x\r\n\r\n")
		if code, body := status(t, r); code != 502 || !strings.Contains(body, want) {
			t.Error(code, body)
		}
		if e := w.event(func(ConnectionEvent) bool { return true }); !strings.Contains(e.Err, want) || e.Decision.Verdict != Allow {
			t.Errorf("%+v", e)
		}
	}
}

func TestTransparentClient(t *testing.T) {
	for _, limited := range []bool{false, true} {
		s := newServers(t)
		cert, err := s.getOrIssueCert(target{name: "a.test"})
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			fmt.Fprint(w, "for ", r.Host)
		}))
		server.TLS = &tls.Config{Certificates: []tls.Certificate{*cert}}
		server.StartTLS()
		defer server.Close()
		port := portOf(server.Listener.Addr()) // a name is connected to on the port that it was asked for on
		rules := PolicyRules{Allow: []string{"*:" + port, "*"}, Deny: []string{"b.test:" + port}, Hosts: local("a.test")}
		if limited {
			rules.Methods = map[string][]string{"a.test": {"GET"}}
		}
		p, err := NewProxy(ProxyOptions{Policy: compile(t, rules), Authority: s.CertificateAuthority, Roots: s.pool()})
		if err != nil {
			t.Fatal(err)
		}
		defer p.Close()

		dial := func(name string) net.Conn {
			var m dnsmessage.Message
			if err := m.Unpack(p.dns.answerMessage(question(t, name+".", dnsmessage.TypeA))); err != nil || len(m.Answers) != 1 {
				t.Fatal(name, m, err)
			}
			a := m.Answers[0].Body.(*dnsmessage.AResource).A
			web, err := net.Listen("tcp", net.JoinHostPort(net.IP(a[:]).String(), port))
			if err != nil {
				t.Fatal(err)
			}
			p.StartServing(Listeners{Web: []net.Listener{web}})
			c, err := net.Dial("tcp", web.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = c.Close() })
			return c
		}
		c := tls.Client(dial("a.test"), &tls.Config{ServerName: "a.test", RootCAs: s.pool()})
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: a.test:%s\r\n\r\n", port)
		if code, body := status(t, bufio.NewReader(c)); code != 200 || body != "for a.test:"+port {
			t.Error(code, body)
		}
		b := dial("b.test")
		fmt.Fprintf(b, "GET / HTTP/1.1\r\nHost: b.test\r\n\r\n")
		if code, body := status(t, bufio.NewReader(b)); code != 403 || !strings.Contains(body, "network.deny") {
			t.Error(code, body)
		}
	}
}

func TestUnassignedAddressIsRefused(t *testing.T) {
	w := newServers(t).serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"*"}})})
	c, err := net.Dial("tcp", "127.1.2.3:"+w.web)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n")
	if code, body := status(t, bufio.NewReader(c)); code != 403 || !strings.Contains(body, "is assigned to no name") {
		t.Error(code, body)
	}
	w.refusal()
}

func TestGRPCTrailers(t *testing.T) {
	s := newServers(t)
	port := s.start("a.test", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Trailer", "Grpc-Status")
		in := bufio.NewReader(r.Body)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				break
			}
			fmt.Fprint(w, r.Proto, " ", r.Header.Get("Te"), " ", line)
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("Grpc-Status", "0")
	}))
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}, Hosts: local("a.test")}),
		Secrets: []Secret{token("a.test:" + port)}})
	from, to := io.Pipe()
	r := request(t, "POST", "https://a.test:"+port, "Te: trailers")
	r.Body, r.ContentLength = from, -1
	go func() { _, _ = io.WriteString(to, "one\n") }()
	resp, err := w.client().Do(r)
	if err != nil || resp.ProtoMajor != 2 {
		t.Fatal(resp, err)
	}
	in := bufio.NewReader(resp.Body)
	for _, next := range []string{"two", "three", ""} {
		line, err := in.ReadString('\n')
		if err != nil || !strings.HasPrefix(line, "HTTP/2.0 trailers ") {
			t.Fatal(line, err)
		}
		if next != "" {
			_, _ = io.WriteString(to, next+"\n")
		}
	}
	_ = to.Close()
	if b, err := io.ReadAll(in); len(b) != 0 || err != nil || resp.Trailer.Get("Grpc-Status") != "0" {
		t.Error(b, err, resp.Trailer)
	}
}

// TestWebSocket has a connection that isn't looked into, and one that is, become another protocol.
func TestWebSocket(t *testing.T) {
	s := newServers(t)
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = rw.WriteString("HTTP/1.1 101 x\r\nConnection: Upgrade\r\nUpgrade: " + r.Header.Get("Upgrade") + "\r\n\r\n")
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		_, _ = io.WriteString(c, "got "+line)
	})
	plain, opaque, looked := s.startPlain(h), s.start("a.test", h), s.start("a.test", h)
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{
		Allow: []string{"a.test:" + plain, "a.test:" + opaque, "a.test:" + looked},
		Hosts: local("a.test"), Methods: map[string][]string{"a.test:" + looked: {"GET"}}})})
	clear, _ := w.connect("a.test:" + plain)
	for port, c := range map[string]net.Conn{
		plain: clear, opaque: w.secure("https://a.test:" + opaque), looked: w.secure("https://a.test:" + looked),
	} {
		fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: a.test:%s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n", port)
		r := bufio.NewReader(c)
		resp, err := http.ReadResponse(r, nil)
		if err != nil || resp.StatusCode != http.StatusSwitchingProtocols {
			t.Fatal(resp, err)
		}
		_, _ = io.WriteString(c, "ping\n")
		if line, err := r.ReadString('\n'); line != "got ping\n" {
			t.Error(line, err)
		}
	}
}
