package egress

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"strings"
	"testing"
	"testing/iotest"
)

// hello is what a TLS client says first.
func hello(t testing.TB, name string) []byte {
	t.Helper()
	ours, theirs := net.Pipe()
	go func() {
		_ = tls.Client(ours, &tls.Config{ServerName: name, InsecureSkipVerify: true}).Handshake()
	}()
	defer ours.Close()
	buf := make([]byte, 8192)
	n, err := theirs.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

func TestReadClientPreamble(t *testing.T) {
	secure := string(hello(t, "api.example.com"))
	for _, c := range []struct {
		text         string
		secure, fine bool
		name         string
	}{
		{secure, true, true, "api.example.com"},
		{string(hello(t, "")), true, true, ""},
		{"GET / HTTP/1.1\r\n", false, true, ""},
		{"PROPFIND / HTTP/1.1\r\n", false, true, ""},
		{"PRI * HTTP/2.0\r\n", false, false, ""},
		{"SSH-2.0-x\r\n", false, false, ""},
		{" / HTTP/1.1\r\n", false, false, ""},
		{strings.Repeat("A", 30) + " ", false, false, ""},
		{"GET", false, false, ""},
		{"", false, false, ""},
		{secure[:60], true, false, ""},
		{"\x16\x03\x01\x00\x05GET /", true, false, ""},
	} {
		for kind, r := range map[string]io.Reader{
			"whole": strings.NewReader(c.text), "by bytes": iotest.OneByteReader(strings.NewReader(c.text)),
		} {
			o, err := readClientPreamble(r)
			if (err == nil) != c.fine || o.isTLS != c.secure || o.serverName != c.name {
				t.Errorf("%.20q %s: %+v, %v", c.text, kind, o, err)
			}
			if !strings.HasPrefix(c.text, string(o.head)) {
				t.Errorf("%.20q %s: read %q", c.text, kind, o.head)
			}
			if c.secure && c.fine && string(o.head) != c.text {
				t.Errorf("%s: some of the message is lost", kind)
			}
		}
	}
}

func FuzzReadOpening(f *testing.F) {
	f.Add(hello(f, "api.example.com"))
	f.Add([]byte("GET / HTTP/1.1\r\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bytes.NewReader(b)
		o, _ := readClientPreamble(r)
		rest, _ := io.ReadAll(r)
		if !bytes.Equal(append(o.head, rest...), b) {
			t.Error("bytes are lost")
		}
	})
}
