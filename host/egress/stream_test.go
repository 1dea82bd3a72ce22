package egress

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// TestResponseBeforeRequestEnds has a server begin its answer before the proxy has seen that the request has come
// to its end. The rest of the answer arrives nevertheless.
func TestResponseBeforeRequestEnds(t *testing.T) {
	for _, scheme := range []string{"http", "https"} {
		t.Run(scheme, func(t *testing.T) {
			more := make(chan struct{})
			server := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				_ = http.NewResponseController(w).Flush()
				select {
				case <-more:
				case <-r.Context().Done():
				}
				_, _ = w.Write(body)
			})
			s := newServers(t)
			var port string
			var secrets []Secret
			if scheme == "http" {
				port = s.startPlain(server)
			} else {
				port = s.start("a.test", server)
				secrets = []Secret{token("a.test:" + port)} // or the proxy would not see the request
			}
			w := s.serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test:" + port}, Hosts: local("a.test")}),
				Secrets: secrets})
			begun, found := make(chan struct{}), make(chan error, 1)
			one := w.newTransport() // HTTP/2 has no such look
			one.ForceAttemptHTTP2 = false
			t.Cleanup(one.CloseIdleConnections)
			w.reverseProxy.Transport = &hosttest.LateBodyCheckTransport{RoundTripper: one, Begun: begun, Result: found}
			client := w.client()
			client.Timeout = time.Minute
			kept := client.Transport.(*http.Transport)
			kept.ForceAttemptHTTP2, kept.DisableKeepAlives = false, false
			t.Cleanup(kept.CloseIdleConnections)
			response, err := client.Post(scheme+"://a.test:"+port, "", strings.NewReader("all of it"))
			close(begun)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = response.Body.Close() }()
			if err := <-found; !errors.Is(err, io.EOF) {
				t.Error(err)
			}
			close(more)
			if answer, err := io.ReadAll(response.Body); err != nil || string(answer) != "all of it" {
				t.Errorf("%q, %v", answer, err)
			}
		})
	}
}
