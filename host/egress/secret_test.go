package egress

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
)

const value = "real-value-0123456789"

var dummy = NewPlaceholder(len(value))

func TestNewPlaceholder(t *testing.T) {
	for _, n := range []int{8, 20, 28, 40, 300} {
		if a, b := NewPlaceholder(n), NewPlaceholder(n); len(a) != n || a == b || n >= 28 && !strings.HasPrefix(a, "placeholder-") {
			t.Error(n, a, b)
		}
	}
}

// token is a secret for some hosts.
func token(hosts ...string) Secret {
	return Secret{Name: "TOKEN", Placeholder: dummy, Value: value, Hosts: hosts, Header: "Authorization", Template: "Bearer {{secret}}"}
}

func TestPrintedProxyHidesSecrets(t *testing.T) {
	w, _, _ := newSecretProxy(t, echo)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		if text := fmt.Sprintf(format, []any{w.Secrets, w.secrets[0].Secret}); strings.Contains(text, value) {
			t.Error(text)
		}
	}
}

func TestSecretErrors(t *testing.T) {
	for want, change := range map[string]func(*Secret){
		"fewer than":             func(s *Secret) { s.Value, s.Placeholder = "short", "other" },
		"have the length of":     func(s *Secret) { s.Placeholder += "x" },
		"no hosts":               func(s *Secret) { s.Hosts = nil },
		"is not a header name":   func(s *Secret) { s.Header = "a b" },
		"is a connection header": func(s *Secret) { s.Header = "host" },
		"{{secret}} once":        func(s *Secret) { s.Template = "Bearer" },
		"a newline":              func(s *Secret) { s.Template += "\n" },
		`"*"`:                    func(s *Secret) { s.Hosts = []string{"*"} },
		`"*.com"`:                func(s *Secret) { s.Hosts = []string{"*.com"} },
		`secret "TOKEN": "`:      func(s *Secret) { s.Hosts = []string{"10.0.0.1"} },
	} {
		s := token("a.test")
		change(&s)
		if _, err := compileSecret(s); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), value) {
			t.Errorf("%v, want %q in it", err, want)
		}
	}
	if _, err := NewProxy(ProxyOptions{Policy: compile(t, PolicyRules{}), Secrets: []Secret{token("a.test")}}); err == nil {
		t.Error("no authority is needed")
	}
}

// secretWorld has a server that gets a secret, and one that doesn't. Both answer with what they got.
func newSecretProxy(t *testing.T, h http.HandlerFunc) (w *testProxy, with, without string) {
	s := newServers(t)
	bound, other := s.start("a.test", h), s.start("b.test", h)
	plain := s.startPlain(h)
	w = s.serve(ProxyOptions{
		Policy: compile(t, PolicyRules{Hosts: local("a.test", "b.test"), Allow: []string{"a.test:" + bound, "b.test:" + other,
			"a.test:" + plain}, Methods: map[string][]string{"b.test": {"GET", "POST"}}}),
		Secrets: []Secret{token("a.test:" + bound)},
	})
	t.Cleanup(func() {
		if resp, body := w.do(w.client(), request(t, "GET", "http://a.test:"+plain)); resp.StatusCode != http.StatusForbidden {
			t.Errorf("plain HTTP to a host with a secret: %d %s", resp.StatusCode, body)
		}
	})
	return w, "https://a.test:" + bound, "https://b.test:" + other
}

func TestSecretIsInjected(t *testing.T) {
	got := make(chan string, 1)
	w, with, without := newSecretProxy(t, func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got <- strings.Join(r.Header["Authorization"], "|") + string(b)
	})
	credentials := func(s string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + s)) }
	for _, c := range []struct{ url, header, want string }{
		{with, "", "Bearer " + value},
		{with, "Authorization: Bearer " + dummy, "Bearer " + value},
		{with, "Authorization: token " + dummy, "Bearer " + value},
		{with, "Authorization: Basic " + credentials(dummy), "Basic " + credentials(value)},
		{with, "Authorization: Bearer mine", "Bearer mine"},
		{with, "X-Other: " + dummy, ""},
		{with, "X-Other: Basic " + credentials(dummy), ""},
		{with, "X-" + dummy + ": x", ""},
		{with + "/?q=" + dummy, "", ""},
		{with + "/" + dummy, "", ""},
		{with + "/%70" + dummy[1:], "", dummy},
		{without, "", "-"},
		{without, "Authorization: Bearer " + dummy, ""},
		{without, "Authorization: Basic " + credentials(dummy), ""},
		{without + "/?" + dummy, "", ""},
	} {
		if strings.Contains(c.url, "%70") && dummy[0] != 'p' {
			c.url, c.want = strings.Replace(c.url, "%70", fmt.Sprintf("%%%x", dummy[0]), 1), ""
		}
		r := request(t, "GET", c.url)
		if c.header != "" {
			r = request(t, "GET", c.url, c.header)
		}
		resp, body := w.do(w.client(), r)
		switch {
		case c.want == "":
			if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "TOKEN") || strings.Contains(body, value) || len(got) != 0 {
				t.Errorf("%v: %d %s", c, resp.StatusCode, body)
			}
			w.refusal()
		case resp.StatusCode != http.StatusOK:
			t.Errorf("%v: %d %s", c, resp.StatusCode, body)
		default:
			if header := <-got; header != c.want && header+"-" != c.want {
				t.Errorf("%v: the server got %q", c, header)
			}
		}
	}
	r, _ := http.NewRequest(http.MethodPost, with, strings.NewReader(dummy))
	w.do(w.client(), r)
	if header := <-got; header != "Bearer "+value+dummy {
		t.Errorf("the body: %q", header)
	}
}

func TestEchoedSecretIsRedacted(t *testing.T) {
	w, with, _ := newSecretProxy(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Echo", r.Header.Get("Authorization"))
		w.Header().Set("Link", value)
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Trailer", "X-End")
		for _, part := range []string{"<", r.Header.Get("Authorization"), value[:5], value[5:9], value[9:], ">", value[:7]} {
			_, _ = io.WriteString(w, part)
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set("X-End", value)
	})
	for _, header := range []string{"A: b", "Authorization: Basic " + encodeBase64("u:"+dummy)} {
		tr := w.client().Transport
		resp, body := w.do(&http.Client{Transport: tr}, request(t, "GET", with, header))
		auth := "Bearer " + dummy
		if header != "A: b" {
			auth = strings.TrimPrefix(header, "Authorization: ")
		}
		if want := "<" + auth + dummy + ">" + value[:7]; body != want {
			t.Errorf("the body is %q, want %q", body, want)
		}
		if all := fmt.Sprint(resp.Header, resp.Trailer); strings.Contains(all, value) || strings.Count(all, dummy) < 2 {
			t.Error(all)
		}
	}
}

func TestEarlyHintsAreRedacted(t *testing.T) {
	w, with, _ := newSecretProxy(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", value)
		w.WriteHeader(http.StatusEarlyHints)
	})
	c := w.secure(with)
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n", strings.TrimPrefix(with, "https://"))
	b, err := io.ReadAll(c)
	if err != nil || !strings.HasPrefix(string(b), "HTTP/1.1 103") || strings.Contains(string(b), value) {
		t.Errorf("%q, %v", b, err)
	}
}

func TestCompressedResponseIsRefused(t *testing.T) {
	asked := make(chan string, 2)
	w, with, without := newSecretProxy(t, func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Header.Get("Accept-Encoding") + r.Header.Get("Range")
		w.Header().Set("Content-Encoding", "gzip")
	})
	r := request(t, "GET", with, "Range: bytes=0-3", "Accept-Encoding: gzip")
	if resp, body := w.do(w.client(), r); resp.StatusCode != http.StatusBadGateway || <-asked != "identity" {
		t.Error(resp.StatusCode, body)
	}
	r = request(t, "GET", without, "Range: bytes=0-3", "Accept-Encoding: gzip")
	if resp, body := w.do(w.client(), r); resp.StatusCode != http.StatusOK || <-asked != "gzipbytes=0-3" {
		t.Error(resp.StatusCode, body)
	}
}

func TestUpgradedConnectionWithSecret(t *testing.T) {
	w, with, _ := newSecretProxy(t, func(w http.ResponseWriter, r *http.Request) {
		c, rw, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		defer c.Close()
		fmt.Fprintf(rw, "HTTP/1.1 101 %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nX-Echo: %s\r\n\r\n", value,
			r.Header.Get("Authorization"))
		_ = rw.Flush()
		line, _ := rw.ReadString('\n')
		for _, part := range []string{line, value[:9], value[9:], r.Header.Get("Sec-Websocket-Extensions")} {
			_, _ = io.WriteString(c, part)
		}
	})
	c := w.secure(with)
	fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"+
		"Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n", strings.TrimPrefix(with, "https://"))
	r := bufio.NewReader(c)
	resp, err := http.ReadResponse(r, nil)
	if err != nil || resp.StatusCode != http.StatusSwitchingProtocols || strings.Contains(fmt.Sprint(resp), value) {
		t.Fatal(resp, err)
	}
	_, _ = io.WriteString(c, "ping\n")
	if b, _ := io.ReadAll(r); string(b) != "ping\n"+dummy {
		t.Errorf("%q", b)
	}
}

func TestRedactReader(t *testing.T) {
	red := redactor{}.withSecret("secretAA", "dummy-AA").withSecret("secretAABB", "dummy-AABB").withSecret("abababac", "dummyabc")
	for text, want := range map[string]string{
		"":                       "",
		"x secretAA y":           "x dummy-AA y",
		"x secretAABB y":         "x dummy-AABB y",
		"secretAsecretAA":        "secretAdummy-AA",
		"abababababac.":          "ababdummyabc.",
		"secretAA":               "dummy-AA",
		"secretAAsecretAA":       "dummy-AAdummy-AA",
		"ends in secretA":        "ends in secretA",
		"ssecretAAB":             "sdummy-AAB",
		"s\x00secretAABBsecretA": "s\x00dummy-AABBsecretA",
	} {
		for kind, r := range map[string]io.Reader{
			"whole": strings.NewReader(text), "by bytes": iotest.OneByteReader(strings.NewReader(text)),
			"halves": iotest.HalfReader(strings.NewReader(text)), "end": iotest.DataErrReader(strings.NewReader(text)),
		} {
			got, err := io.ReadAll(iotest.OneByteReader(red.newRedactingReader(r)))
			if err != nil || string(got) != want {
				t.Errorf("%s %q: %q, %v, want %q", kind, text, got, err, want)
			}
		}
	}
}

// TestRedactAtOnce shows that nothing is held back but what may be the beginning of a value.
func TestRedactAtOnce(t *testing.T) {
	from, to := io.Pipe()
	r := redactor{}.withSecret("secretAA", "dummy-AA").newRedactingReader(from)
	buf := make([]byte, 100)
	for _, step := range [][2]string{{"data: 1\n\n", "data: 1\n\n"}, {"xsec", "x"}, {"retAA!", "dummy-AA!"}, {"a", "a"}} {
		go func() { _, _ = io.WriteString(to, step[0]) }()
		if n, err := r.Read(buf); string(buf[:n]) != step[1] || err != nil {
			t.Fatalf("after %q: %q, %v", step[0], buf[:n], err)
		}
	}
}

func TestRedactHeader(t *testing.T) {
	h := http.Header{"X-Secretaa": {"a"}, "Y": {"v secretAA", "secretAAsecretAA"}}
	redactor{}.withSecret("secretAA", "dummy-AA").redactHeader(h)
	var b bytes.Buffer
	_ = h.Write(&b)
	if strings.Contains(strings.ToLower(b.String()), "secret") {
		t.Error(b.String())
	}
}

func TestRedactLong(t *testing.T) {
	value, dummy := strings.Repeat("v", 100_000)+"!", strings.Repeat("d", 100_001)
	got, err := io.ReadAll(redactor{}.withSecret(value, dummy).newRedactingReader(strings.NewReader("<" + value + ">")))
	if err != nil || string(got) != "<"+dummy+">" {
		t.Error(len(got), err)
	}
}

// A value that changes is fetched for each request to its hosts, and for no other.
func TestFetchedSecretIsInjected(t *testing.T) {
	s := newServers(t)
	show := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "got "+r.Header.Get("Authorization")) })
	bound, other, plain := s.start("a.test", show), s.start("b.test", show), s.startPlain(show)
	var values []string
	got := make(chan string, 1)
	fetched := func(host string, plain bool) Secret {
		return Secret{Name: "LOGIN", Hosts: []string{host}, Header: "Authorization", Template: "Bearer {{secret}}", Plain: plain,
			Fetch: func(context.Context) (string, error) {
				if len(values) == 0 {
					return "", errors.New("it has expired")
				}
				value := values[0]
				values = values[1:]
				got <- value
				return value, nil
			}}
	}
	w := s.serve(ProxyOptions{
		Policy:  compile(t, PolicyRules{Hosts: local("a.test", "b.test"), Allow: []string{"a.test:" + bound, "b.test:" + other, "a.test:" + plain}}),
		Secrets: []Secret{fetched("a.test:"+bound, false), fetched("a.test:"+plain, true)},
	})
	values = []string{"first-value", "a-longer-second-value", "third-value"}
	for range 2 {
		resp, body := w.do(w.client(), request(t, "GET", "https://a.test:"+bound))
		value := <-got
		if want := len("got Bearer " + value); resp.StatusCode != http.StatusOK || len(body) != want || strings.Contains(body, value) {
			t.Errorf("%d %s", resp.StatusCode, body)
		}
	}
	if resp, body := w.do(w.client(), request(t, "GET", "https://b.test:"+other)); resp.StatusCode != http.StatusOK || body != "got " {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	resp, body := w.do(w.client(), request(t, "GET", "http://a.test:"+plain))
	if value := <-got; resp.StatusCode != http.StatusOK || len(body) != len("got Bearer "+value) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	resp, body = w.do(w.client(), request(t, "GET", "https://a.test:"+bound))
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "it has expired") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	w.refusal()
}
