package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// idleRuntime answers requests that no running call belongs to any more.
type idleRuntime struct {
	Runtime
	asked, answer chan struct{}
}

func (r idleRuntime) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	close(r.asked)
	<-r.answer
	_, _ = io.WriteString(w, "the result")
}
func (r idleRuntime) ActivityCounts() (running, sessions int) { return 0, 0 }
func (r idleRuntime) PublishedPorts() []string                { return nil }
func (r idleRuntime) HasSession(string) bool                  { return false }
func (r idleRuntime) StartSchedulers()                        {}
func (r idleRuntime) StopSchedulers()                         {}
func (r idleRuntime) HealthChecks() []ReadinessCheck          { return nil }
func (r idleRuntime) Close(context.Context) error             { return nil }

// A call has ended before its result is sent. The shutdown waits for the second.
func TestShutdownWaitsForAnswers(t *testing.T) {
	t.Parallel()
	runtime := idleRuntime{asked: make(chan struct{}), answer: make(chan struct{})}
	g := New(Options{Home: t.TempDir(), Address: "127.0.0.1:0", IsOwnHost: func(string) bool { return true },
		OpenInstance: func() (Runtime, error) { return runtime, nil }})
	ctx, end := context.WithCancel(t.Context())
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() { ended <- g.Run(ctx, func(url string) { address <- url }) }()
	url, answered := <-address, make(chan string, 1)
	go func() {
		response, err := http.Post(url+"/mcp", "application/json", strings.NewReader("{}"))
		if err != nil {
			answered <- err.Error()
			return
		}
		body, _ := io.ReadAll(response.Body)
		_ = response.Body.Close()
		answered <- string(body)
	}()
	<-runtime.asked
	end()
	hosttest.WaitUntil(t, "the gateway lets nobody in", func() bool { _, ready := g.checkReadiness(); return !ready })
	response, err := http.Post(url+"/mcp", "application/json", strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("a new request: %s", response.Status)
	}
	close(runtime.answer)
	if body := <-answered; body != "the result" {
		t.Errorf("the answer: %s", body)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
