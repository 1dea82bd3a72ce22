package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// counting resolves names by a function, and counts.
type counting struct {
	calls atomic.Int64
	f     func(host string, call int64) []string
}

func (c *counting) LookupNetIP(_ context.Context, _, host string) (addrs []netip.Addr, err error) {
	for _, a := range c.f(host, c.calls.Add(1)) {
		addrs = append(addrs, netip.MustParseAddr(a))
	}
	if addrs == nil {
		err = errors.New("no such host")
	}
	return addrs, err
}

// TestRefusedTargets tries targets that look like an allowed one, or reach this machine. None is resolved.
func TestRefusedTargets(t *testing.T) {
	names := &counting{f: func(string, int64) []string { return []string{"127.0.0.1"} }}
	s := newServers(t)
	port := s.start("allowed.test", echo)
	w := s.serve(ProxyOptions{resolver: names,
		Policy: compile(t, PolicyRules{Allow: []string{"allowed.test:" + port, "allowed.test"}})})
	for _, host := range []string{
		"evil.test", "xallowed.test", "allowed.test.evil.test", "evil\x00.allowed.test", "evil%00.allowed.test",
		"allowed.test..", "allowеd.test", "xn--allowd-cvf.test", "127.0.0.1", "0177.0.0.1", "0x7f000001", "2130706433",
		"127.1", "[::1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "localhost", "0", "169.254.169.254", "user@allowed.test",
	} {
		for _, port := range []string{port, "443"} {
			_, r := w.raw("CONNECT " + host + ":" + port + " HTTP/1.1\r\nHost: x\r\n\r\n")
			if code, body := status(t, r); code != 403 && code != 400 {
				t.Errorf("CONNECT %q: %d %s", host, code, body)
			}
			_, r = w.raw("GET http://" + host + ":" + port + "/ HTTP/1.1\r\nHost: x\r\n\r\n")
			if code, body := status(t, r); code != 403 && code != 400 {
				t.Errorf("GET %q: %d %s", host, code, body)
			}
		}
	}
	if n := names.calls.Load(); n != 0 {
		t.Errorf("refused names were resolved %d times", n)
	}
}

func TestSpellingsOfAllowedName(t *testing.T) {
	s := newServers(t)
	port := s.start("xn--bcher-kva.test", echo)
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"bücher.test:" + port}, Hosts: local("BÜCHER.test")})})
	for _, host := range []string{"XN--BCHER-KVA.test", "xn--bcher-kva.test.", "bücher.test"} {
		if resp, body := w.do(w.client(), request(t, "GET", "https://"+host+":"+port+"/")); resp.StatusCode != http.StatusOK {
			t.Error(host, body)
		}
	}
}

func TestRefusalNamesSetting(t *testing.T) {
	s := newServers(t)
	port := s.start("api.test", echo)
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{
		Allow: []string{"*.example.test", "api.test:" + port}, Deny: []string{"no.example.test"},
		Ask: []string{"ask.example.test"}, Methods: map[string][]string{"api.test": {"GET"}}, Hosts: local("api.test"),
	})})
	for target, want := range map[string][2]string{
		"http://api.example.com/":   {codeAllowlist, "network: refused api.example.com; setting network.allow\n"},
		"http://api.test:22/":       {codeAllowlist, "setting network.allow\n"},
		"http://no.example.test/":   {codeDenylist, "setting network.deny\n"},
		"http://ask.example.test/":  {codePolicy, "setting network.ask\n"},
		"https://api.test:" + port:  {codeMethod, "setting network.methods\n"},
		"http://x.com.example.com/": {codeAllowlist, ""},
	} {
		resp, body := w.do(w.client(), request(t, "DELETE", target))
		if resp.StatusCode != http.StatusForbidden || resp.Header.Get(errorHeader) != want[0] || !strings.HasSuffix(body, want[1]) {
			t.Errorf("%s: %d %s %q", target, resp.StatusCode, resp.Header.Get(errorHeader), body)
		}
		if e := w.refusal(); e.Decision.Reason+"\n" != body {
			t.Errorf("%+v", e)
		}
	}
}

// TestConnectToPort22 shows that neither an entry without the port opens it, nor one with it lets SSH through.
func TestConnectToPort22(t *testing.T) {
	reached := make(chan string, 1)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		if c, err := l.Accept(); err == nil {
			b, _ := io.ReadAll(c)
			reached <- string(b)
		}
	}()
	port := portOf(l.Addr())
	w := newServers(t).serve(ProxyOptions{Policy: compile(t, PolicyRules{
		Allow: []string{"a.test", "a.test:" + port}, Hosts: local("a.test")})})
	_, r := w.raw("CONNECT a.test:22 HTTP/1.1\r\nHost: a.test:22\r\n\r\n")
	if code, _ := status(t, r); code != 403 {
		t.Error(code)
	}
	w.refusal()
	c, r := w.connect("a.test:" + port)
	_, _ = io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n")
	if b, _ := io.ReadAll(r); len(b) != 0 {
		t.Errorf("%q", b)
	}
	if e := w.refusal(); !strings.Contains(e.Decision.Reason, "neither TLS nor HTTP") {
		t.Errorf("%+v", e)
	}
	if got := <-reached; got != "" {
		t.Errorf("the server got %q", got)
	}
}

func TestDNSRebindingIsRefused(t *testing.T) {
	s := newServers(t)
	port := s.startPlain(echo)
	names := &counting{f: func(_ string, call int64) []string {
		if call == 1 {
			return []string{"127.0.0.1", "::1", "10.0.0.1", "::ffff:127.0.0.1"}
		}
		return []string{"127.0.0.1"}
	}}
	w := s.serve(ProxyOptions{resolver: names, Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}})})
	resp, body := w.do(w.client(), request(t, "GET", "http://a.test:"+port))
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "addresses [127.0.0.1 ::1") ||
		!strings.Contains(body, "127.0.0.1/32") {
		t.Error(resp.StatusCode, body)
	}
	if e := w.refusal(); e.Host != "a.test" {
		t.Errorf("%+v", e)
	}

	// An address of this machine is refused though it is public.
	names = &counting{f: func(string, int64) []string { return []string{"8.8.8.8"} }}
	w = s.serve(ProxyOptions{resolver: names, localAddrs: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("8.8.8.8")} },
		Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}})})
	resp, body = w.do(w.client(), request(t, "GET", "http://a.test:"+port))
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "8.8.8.8/32") {
		t.Error(resp.StatusCode, body)
	}

	// The first answer is the one that is dialed.
	names = &counting{f: func(_ string, call int64) []string {
		if call == 1 {
			return []string{"10.0.0.9", "::ffff:127.0.0.1"}
		}
		return []string{"10.0.0.9"}
	}}
	w = s.serve(ProxyOptions{resolver: names, localAddrs: func() []netip.Addr { return nil },
		Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port, "127.0.0.0/8:" + port}})})
	if resp, body := w.do(w.client(), request(t, "GET", "http://a.test:"+port)); resp.StatusCode != http.StatusOK {
		t.Error(resp.StatusCode, body)
	}
	if n := names.calls.Load(); n != 1 {
		t.Errorf("resolved %d times", n)
	}
}

func TestRedirectTargetIsRefused(t *testing.T) {
	s := newServers(t)
	port := s.start("a.test", http.RedirectHandler("http://169.254.169.254/latest", http.StatusFound))
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}, Hosts: local("a.test"),
		Methods: map[string][]string{"a.test": {"GET"}}})})
	resp, body := w.do(w.client(), request(t, "GET", "https://a.test:"+port))
	if resp.StatusCode != http.StatusForbidden || resp.Request.URL.Host != "169.254.169.254" {
		t.Error(resp.StatusCode, resp.Request.URL, body)
	}
}

func TestHostNamesMustAgree(t *testing.T) {
	s := newServers(t)
	opaque, looked := s.start("a.test", echo), s.start("a.test", echo)
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{
		Allow:   []string{"a.test:" + opaque, "a.test:" + looked, "b.test:" + looked, "127.0.0.0/8:" + opaque},
		Hosts:   local("a.test", "b.test"),
		Methods: map[string][]string{"a.test:" + looked: {"GET"}},
	})})
	for _, port := range []string{opaque, looked} {
		for _, sni := range []string{"b.test", "", "evil.test"} {
			c, _ := w.connect("a.test:" + port)
			err := tls.Client(c, &tls.Config{ServerName: sni, InsecureSkipVerify: true}).Handshake()
			if err == nil || !strings.Contains(err.Error(), "unrecognized name") {
				t.Errorf("name %q: %v", sni, err)
			}
			if e := w.refusal(); e.Host != "a.test" || !strings.Contains(e.Decision.Reason, "TLS for") {
				t.Errorf("%+v", e)
			}
		}
	}
	c, _ := w.connect("127.0.0.1:" + opaque)
	_, _ = c.Write(hello(t, "a.test"))
	if e := w.refusal(); e.Host != "127.0.0.1" {
		t.Errorf("%+v", e)
	}
	for _, proto := range []string{"http/1.1", "h2"} { // fronting
		for host, want := range map[string]int{
			"a.test:" + looked: 200, "A.test.:" + looked: 200, "b.test:" + looked: 421, "a.test": 421, "evil.test": 421,
			"a.test:" + opaque: 421,
		} {
			tr := w.client().Transport.(*http.Transport)
			tr.TLSClientConfig.NextProtos, tr.ForceAttemptHTTP2 = []string{proto}, proto == "h2"
			r := request(t, "GET", "https://a.test:"+looked)
			r.Host = host
			resp, body := w.do(&http.Client{Transport: tr}, r)
			if resp.StatusCode != want || (resp.ProtoMajor == 2) != (proto == "h2") {
				t.Errorf("%s %s: %s %d %s", proto, host, resp.Proto, resp.StatusCode, body)
			}
		}
	}
}

func TestHostChangeOnKeptConnection(t *testing.T) {
	s := newServers(t)
	port := s.startPlain(echo)
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}, Hosts: local("a.test", "b.test")})})
	c, r := w.connect("a.test:" + port)
	for _, step := range []struct {
		target, host string
		want         int
	}{{"/", "a.test:" + port, 200}, {"/", "b.test:" + port, 421}} {
		fmt.Fprintf(c, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", step.target, step.host)
		if code, body := status(t, r); code != step.want {
			t.Errorf("%v: %d %s", step, code, body)
		}
	}
	c, r = w.connect("a.test:" + port)
	fmt.Fprintf(c, "GET http://b.test:%s/ HTTP/1.1\r\nHost: a.test:%[1]s\r\n\r\n", port)
	if code, _ := status(t, r); code != 421 {
		t.Error(code)
	}
	c, r = w.raw("")
	for _, step := range []struct {
		host string
		want int
	}{{"a.test", 200}, {"b.test", 403}, {"a.test", 200}} {
		fmt.Fprintf(c, "GET http://%s:%s/ HTTP/1.1\r\nHost: a.test:%[2]s\r\n\r\n", step.host, port)
		if code, body := status(t, r); code != step.want {
			t.Errorf("%v: %d %s", step, code, body)
		}
	}
}

func TestHTTP2UpgradeIsDropped(t *testing.T) {
	got := make(chan http.Header, 1)
	s := newServers(t)
	port := s.startPlain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header }))
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}, Hosts: local("a.test")})})
	_, r := w.raw("GET http://a.test:" + port + "/ HTTP/1.1\r\nHost: a.test:" + port + "\r\n" +
		"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQCAAAAAAIAAAAA\r\n\r\n")
	if code, body := status(t, r); code != 200 {
		t.Error(code, body)
	}
	if h := <-got; h["Upgrade"] != nil || h["Connection"] != nil || h["Http2-Settings"] != nil {
		t.Error(h)
	}
}

func TestRequestSmugglingIsRefused(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	s := newServers(t)
	port := s.startPlain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf("%s %s %d %v %s %s%s", r.Method, r.URL, r.ContentLength, r.TransferEncoding, b,
			r.Header.Get("Proxy-Authorization"), r.Header.Get("X-Hop")))
	}))
	w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}, Hosts: local("a.test")})})
	host := "a.test:" + port
	for _, head := range []string{
		"Host: " + host + "\r\nHost: b.test\r\n",
		"Host: " + host + "\r\nContent-Length: 5\r\nContent-Length: 6\r\n",
		"Host: " + host + "\r\nTransfer-Encoding: chunked, identity\r\n",
		"Host: " + host + "\r\nTransfer-Encoding : chunked\r\n",
		"Host: " + host + "\r\nTransfer-Encoding: xchunked\r\n",
		"Host: " + host + "\r\nContent-Length: +5\r\n",
		"Host: " + host + "\r\nA\x00: b\r\n",
		"Host: " + host + "\r\nContent-Length: 5\r\n folded\r\n",
	} {
		_, r := w.raw("POST http://" + host + "/ HTTP/1.1\r\n" + head + "\r\n0\r\n\r\nGET http://b.test/ HTTP/1.1\r\n\r\n")
		if code, body := status(t, r); code < 400 {
			t.Errorf("%q: %d %s", head, code, body)
		}
	}
	_, r := w.raw("POST http://" + host + "/x HTTP/1.1\r\nHost: " + host + "\r\nContent-Length: 4\r\n" +
		"Transfer-Encoding: chunked\r\nConnection: X-Hop\r\nX-Hop: h\r\nProxy-Authorization: p\r\n\r\n2\r\nab\r\n0\r\n\r\n")
	if code, body := status(t, r); code != 200 {
		t.Error(code, body)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(seen) != 1 || seen[0] != "POST /x -1 [chunked] ab " {
		t.Errorf("%q", seen)
	}
}
