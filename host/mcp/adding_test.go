package mcp_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// adding passes requests on to another server, with a token that they do not have. A nil transport is the default one.
func adding(token string, to *url.URL, transport http.RoundTripper) http.Handler {
	proxy := &httputil.ReverseProxy{Transport: transport, FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) {
		r.Out.URL.Scheme, r.Out.URL.Host = to.Scheme, to.Host
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The server closes the request's body when the answer begins. The transport, which looks there for more than the
		// length says, would take that for a failure and cut off the rest of the answer: a call that asks a person begins
		// its answer with the question, and its client would wait for the result in vain.
		message, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(message))
		proxy.ServeHTTP(w, r)
	})
}

func TestAddedTokenKeepsResponses(t *testing.T) {
	more := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		_ = http.NewResponseController(w).Flush()
		select {
		case <-more:
		case <-r.Context().Done():
		}
		_, _ = io.WriteString(w, r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	to, err := url.Parse(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	begun, found := make(chan struct{}), make(chan error, 1)
	between := httptest.NewServer(adding("the token", to,
		&hosttest.LateBodyCheckTransport{RoundTripper: http.DefaultTransport, Begun: begun, Result: found}))
	t.Cleanup(between.Close)
	client := between.Client()
	client.Timeout = time.Minute
	response, err := client.Post(between.URL, "", strings.NewReader("a message"))
	close(begun)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	if err := <-found; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	close(more)
	if answer, err := io.ReadAll(response.Body); err != nil || string(answer) != "Bearer the token" {
		t.Errorf("%q, %v", answer, err)
	}
}
