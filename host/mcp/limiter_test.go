package mcp

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// What is under way is bounded; what is small passes, and what was given back can be taken again.
func TestRequestsAreLimited(t *testing.T) {
	var l requestLimiter
	for range maxRequestBytes / maxMessage {
		if err := l.acquireSlot(maxMessage); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.acquireSlot(smallMessage + 1); !errors.Is(err, errOverloaded) {
		t.Errorf("one more large message: %v", err)
	}
	if err := l.acquireSlot(smallMessage); err != nil {
		t.Errorf("a small one: %v", err)
	}
	l.releaseSlot(smallMessage)
	l.correctSize(maxMessage, 1)
	if err := l.acquireSlot(maxMessage - 1); err != nil {
		t.Errorf("after a correction: %v", err)
	}
	for range maxRequests - l.requests {
		if err := l.acquireSlot(0); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.acquireSlot(0); !errors.Is(err, errOverloaded) {
		t.Errorf("one more request: %v", err)
	}
	l.releaseSlot(0)
	if err := l.acquireSlot(0); err != nil {
		t.Errorf("after one has ended: %v", err)
	}
}

// A client that asks and asks is refused at some time, one by one, and goes on when it has an answer.
func TestClientRequestLimit(t *testing.T) {
	c := talkTo(t, "2025-06-18")
	for n := range maxRequests + 1 {
		c.send(toolCall(fmt.Sprint(n+1), "wait"))
	}
	refused := c.line() // which of them comes last is for the scheduler to choose
	if !strings.Contains(refused, "too many requests are in progress: 1000 requests of ") {
		t.Errorf("one more is answered with %s", refused)
	}
	cancelled := "5"
	if strings.Contains(refused, `"id":5,`) {
		cancelled = "6"
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + cancelled + `}}`)
	if line := c.line(); !strings.Contains(line, `"id":`+cancelled+`,`) {
		t.Errorf("the cancelled one is answered with %s", line)
	}
	c.send(toolCall(`"again"`, ""))
	if line := c.line(); !strings.Contains(line, `"id":"again","result"`) {
		t.Errorf("after that one more is answered with %s", line)
	}
}

// Over HTTP that holds for all clients together, and nothing of a message is read that is too much.
func TestHTTPRequestLimit(t *testing.T) {
	reached := 0
	h := &sessionLimiter{server: NewServer(nothing{}, "test", ""), maxSessions: 1,
		next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached++ })}
	post := func(message string) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, Path, strings.NewReader(message)))
		return w
	}
	for range 2 * maxRequests { // each gives back what it has taken
		post(hello)
	}
	if reached != 2*maxRequests || h.limiter != (requestLimiter{}) {
		t.Fatalf("%d of %d have come through, and %d requests are left", reached, 2*maxRequests, h.limiter.requests)
	}
	if err := h.limiter.acquireSlot(maxRequestBytes); err != nil {
		t.Fatal(err)
	}
	w := post(strings.Replace(hello, "2025", strings.Repeat("2025", smallMessage), 1))
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(),
		"wait for their responses") {
		t.Errorf("the answer is %d %v %s", w.Code, w.Header(), w.Body)
	}
	if post(hello); reached != 2*maxRequests+1 {
		t.Error("a small message does not come through")
	}
	if h.limiter.bytes != maxRequestBytes {
		t.Errorf("%d bytes are under way; want %d", h.limiter.bytes, maxRequestBytes)
	}
}
