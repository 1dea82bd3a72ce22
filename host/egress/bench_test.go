package egress

import (
	"io"
	"net/http"
	"testing"
	"time"
)

// BenchmarkTunnel carries bytes between TCP connections, as one of TLS is carried.
func BenchmarkTunnel(b *testing.B) {
	user, inside := tcpPair(b)
	outside, server := tcpPair(b)
	go func() { _, _, _ = CopyBothWays(inside, outside, time.Minute) }()
	b.SetBytes(1 << 20)
	block := make([]byte, 1<<20)
	go func() {
		for {
			if _, err := server.Write(block); err != nil {
				return
			}
		}
	}()
	for b.Loop() {
		if _, err := io.ReadFull(user, block); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkRequest makes small requests over TLS, each on a connection of its own: directly, carried through, and
// looked into.
func BenchmarkRequest(b *testing.B) {
	s := newServers(b)
	port, looked := s.start("a.test", echo), s.start("a.test", echo)
	direct := s.start("127.0.0.1", echo)
	w := s.serve(ProxyOptions{Policy: compile(b, PolicyRules{Allow: []string{"a.test:" + port, "a.test:" + looked},
		Hosts: local("a.test"), Methods: map[string][]string{"a.test:" + looked: {"GET"}}})})
	plain := w.client()
	plain.Transport.(*http.Transport).Proxy = nil
	go func() {
		for range w.events {
		}
	}()
	for _, c := range []struct {
		name, url string
		client    *http.Client
	}{
		{"direct", "https://127.0.0.1:" + direct, plain},
		{"through", "https://a.test:" + port, w.client()},
		{"looked-into", "https://a.test:" + looked, w.client()},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				resp, err := c.client.Get(c.url)
				if err != nil {
					b.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
		})
	}
}
