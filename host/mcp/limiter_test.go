package mcp

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"golang.org/x/sync/semaphore"
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
	l.releaseSlot(maxMessage)
	if err := l.acquireSlot(maxMessage); err != nil {
		t.Errorf("after one has ended: %v", err)
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

// newTestLimiter returns a limiter in front of a handler.
func newTestLimiter(next http.HandlerFunc) *sessionLimiter {
	return &sessionLimiter{server: NewServer(nothing{}, "test", ""), maxSessions: 1, stateful: next,
		large: semaphore.NewWeighted(maxLargeBytes)}
}

// postMessage posts a message to a handler.
func postMessage(h http.Handler, message string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(http.MethodPost, Path, strings.NewReader(message)))
	return w
}

// longHello is a large message without arguments.
var longHello = strings.Replace(hello, "2025", strings.Repeat("2025", smallMessage), 1)

// Over HTTP the number of requests is limited for all clients together.
func TestHTTPRequestLimit(t *testing.T) {
	reached := 0
	h := newTestLimiter(func(http.ResponseWriter, *http.Request) { reached++ })
	for range 2 * maxRequests { // each gives back what it has taken
		postMessage(h, hello)
		postMessage(h, longHello)
	}
	if reached != 4*maxRequests || h.limiter != (requestLimiter{}) || !h.large.TryAcquire(maxLargeBytes) {
		t.Fatalf("%d of %d have come through, and %d requests are left", reached, 4*maxRequests, h.limiter.requests)
	}
	for range maxRequests {
		if err := h.limiter.acquireSlot(0); err != nil {
			t.Fatal(err)
		}
	}
	w := postMessage(h, hello)
	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(),
		"wait for their responses") {
		t.Errorf("the answer is %d %v %s", w.Code, w.Header(), w.Body)
	}
}

// A large message waits, unread, until those in progress leave room for it. Small ones pass.
func TestLargeHTTPMessageWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reached := 0
		h := newTestLimiter(func(http.ResponseWriter, *http.Request) { reached++ })
		if !h.large.TryAcquire(maxLargeBytes) {
			t.Fatal("a new limiter is in use")
		}
		body := strings.NewReader(longHello)
		r := httptest.NewRequest(http.MethodPost, Path, body)
		go h.ServeHTTP(httptest.NewRecorder(), r)
		synctest.Wait()
		if reached != 0 || body.Len() != len(longHello) {
			t.Errorf("%d messages have come through, and %d bytes are unread", reached, body.Len())
		}
		if postMessage(h, hello); reached != 1 {
			t.Error("a small message does not come through")
		}
		h.large.Release(maxLargeBytes)
		synctest.Wait()
		if reached != 2 {
			t.Error("the large message still waits")
		}
	})
}

// A small message of unknown length passes too: a large call may wait for the answer in it.
func TestChunkedHTTPMessages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var bodies []string
		h := newTestLimiter(func(_ http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			bodies = append(bodies, string(body))
		})
		post := func(message string) {
			r := httptest.NewRequest(http.MethodPost, Path, strings.NewReader(message))
			r.ContentLength = -1
			h.ServeHTTP(httptest.NewRecorder(), r)
		}
		if !h.large.TryAcquire(1) {
			t.Fatal("a new limiter is in use")
		}
		go post(longHello)
		synctest.Wait()
		if post(hello); !slices.Equal(bodies, []string{hello}) {
			t.Errorf("%d messages have come through, not the small one", len(bodies))
		}
		h.large.Release(1)
		synctest.Wait()
		if !slices.Equal(bodies, []string{hello, longHello}) {
			t.Errorf("%d messages have come through, not both", len(bodies))
		}
	})
}

func TestLargeHTTPMessageTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newTestLimiter(func(http.ResponseWriter, *http.Request) { t.Error("a message has come through") })
		if !h.large.TryAcquire(maxLargeBytes) {
			t.Fatal("a new limiter is in use")
		}
		w := postMessage(h, longHello)
		if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") == "" ||
			!strings.Contains(w.Body.String(), "messages of 32 MB; wait for their responses") {
			t.Errorf("the answer is %d %v %s", w.Code, w.Header(), w.Body)
		}
		h.large.Release(maxLargeBytes)
		if h.limiter != (requestLimiter{}) || !h.large.TryAcquire(maxLargeBytes) {
			t.Error("a refused message still counts")
		}
	})
}
