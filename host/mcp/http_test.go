package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
)

// nothing is a session without tools: what is tested here is who comes as far as that.
type nothing struct{}

func (nothing) Policy() *policy.Policy { return new(policy.Policy) }
func (nothing) Tools() []session.Tool  { return nil }
func (nothing) SpawnSession(session.Origin, policy.Restriction) (*session.Session, error) {
	return nil, nil
}
func (nothing) Call(context.Context, string, json.RawMessage, func(session.CallEvent)) *session.Result {
	return &session.Result{}
}

// serve serves over HTTP and returns how to send a message in a session, which may be empty, to it.
func serve(t *testing.T, o HTTPOptions) func(sess, message string) (status int, answer, began string) {
	t.Helper()
	return servedBy(t, nothing{}, o)
}

// servedBy is the same for a session of the test's.
func servedBy(t *testing.T, s toolProvider, o HTTPOptions) (send func(sess, message string) (status int, answer, began string)) {
	t.Helper()
	send, _ = serveLimited(t, s, o)
	return send
}

// serveLimited is the same, and returns the limiter.
func serveLimited(t *testing.T, s toolProvider, o HTTPOptions) (send func(sess, message string) (status int, answer, began string),
	limiter *sessionLimiter) {
	t.Helper()
	server := NewServer(s, "test", "")
	o.Token = "the token"
	handler, err := server.NewHTTPHandler(o)
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(handler)
	t.Cleanup(web.Close)
	t.Cleanup(func() { server.EndAllSessions(context.Background()) })
	return func(sess, message string) (int, string, string) {
		r, err := http.NewRequest(http.MethodPost, web.URL+Path, strings.NewReader(message))
		if err != nil {
			t.Error(err)
			return 0, "", ""
		}
		r.Header.Set("Authorization", "Bearer the token")
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		if sess != "" {
			r.Header.Set(sessionHeader, sess)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Error(err)
			return 0, "", ""
		}
		defer func() { _ = response.Body.Close() }()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Error(err)
		}
		return response.StatusCode, string(text), response.Header.Get(sessionHeader)
	}, handler.(*httpAccessGate).next.(*sessionLimiter)
}

const (
	hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}}`
	ping = `{"jsonrpc":"2.0","id":2,"method":"ping"}`
)

func TestSessionsAreLimited(t *testing.T) {
	send := serve(t, HTTPOptions{MaxSessions: 3})
	var began sync.Map
	var opened, refused atomic.Int64
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			status, answer, sess := send("", hello)
			switch {
			case status == http.StatusOK:
				opened.Add(1)
				began.Store(sess, true)
			case status == http.StatusServiceUnavailable && strings.Contains(answer, "all 3 sessions are in use"):
				refused.Add(1)
			default:
				t.Errorf("%d %s", status, answer)
			}
		})
	}
	all.Wait()
	// Those that begin at the same moment may stand in each other's way, but never are there more.
	if opened.Load() < 1 || opened.Load() > 3 {
		t.Errorf("%d sessions began and %d did not", opened.Load(), refused.Load())
	}
	for range 3 {
		send("", hello)
	}
	if status, _, _ := send("", hello); status != http.StatusServiceUnavailable {
		t.Errorf("with all sessions in use, one more is answered with %d", status)
	}
	began.Range(func(sess, _ any) bool {
		if status, answer, _ := send(sess.(string), ping); status != http.StatusOK {
			t.Errorf("a session that there is: %d %s", status, answer)
		}
		return true
	})
}

func TestOnlyInitializeCreatesSession(t *testing.T) {
	send := serve(t, HTTPOptions{MaxSessions: 1})
	for range 5 {
		send("", ping)
		send("", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		send("", `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	if status, answer, _ := send("", hello); status != http.StatusOK {
		t.Errorf("%d %s", status, answer)
	}
}

func TestBatchIsRefusedOverHTTP(t *testing.T) {
	send := serve(t, HTTPOptions{})
	_, _, session := send("", helloIn("2025-03-26", `{}`))
	for _, id := range []string{session, ""} {
		status, answer, _ := send(id, " ["+ping+"]")
		if status != http.StatusBadRequest || !strings.Contains(answer, "-32600") || !strings.Contains(answer, "batches") {
			t.Errorf("the batch is answered with %d %s", status, answer)
		}
	}
	if status, answer, _ := send(session, ping); status != http.StatusOK {
		t.Errorf("after the batch, a ping is answered with %d %s", status, answer)
	}
}

func TestIdleSessionsEnd(t *testing.T) {
	send := serve(t, HTTPOptions{MaxSessions: 1, SessionIdle: 50 * time.Millisecond})
	_, _, sess := send("", hello)
	for deadline := time.Now().Add(20 * time.Second); ; {
		if status, _, _ := send("", hello); status == http.StatusOK {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("an idle session is kept for 20 seconds")
		}
		time.Sleep(10 * time.Millisecond)
	}
	if status, _, _ := send(sess, ping); status != http.StatusNotFound {
		t.Errorf("a session that has ended answers with %d", status)
	}
}

func TestLongestIdleSessionGivesWay(t *testing.T) {
	send, limiter := serveLimited(t, nothing{}, HTTPOptions{MaxSessions: 3})
	var sessions []string
	for range 3 {
		_, _, sess := send("", hello)
		sessions = append(sessions, sess)
	}
	setUse := func(n, requests int, idle time.Duration) {
		limiter.mu.Lock()
		defer limiter.mu.Unlock()
		limiter.uses[sessions[n]] = sessionActivity{requests, time.Now().Add(-idle)}
	}
	setUse(0, 1, 3*minSessionIdle) // listens to a stream
	setUse(1, 0, minSessionIdle/2)
	setUse(2, 0, minSessionIdle/2)
	if status, answer, _ := send("", hello); status != http.StatusServiceUnavailable {
		t.Errorf("with all sessions in use, one more is answered with %d %s", status, answer)
	}
	setUse(1, 0, 2*minSessionIdle)
	setUse(2, 0, 3*minSessionIdle)
	if status, answer, _ := send("", hello); status != http.StatusOK {
		t.Errorf("with two idle sessions, one more is answered with %d %s", status, answer)
	}
	for n, want := range []int{http.StatusOK, http.StatusOK, http.StatusNotFound} {
		if status, answer, _ := send(sessions[n], ping); status != want {
			t.Errorf("session %d answers with %d %s, not %d", n, status, answer, want)
		}
	}
	for n := range 50 {
		send(fmt.Sprint("unknown", n), ping)
	}
	limiter.mu.Lock()
	defer limiter.mu.Unlock()
	if len(limiter.uses) > 2*limiter.maxSessions+1 {
		t.Errorf("the uses of %d sessions are kept", len(limiter.uses))
	}
}

func TestHTTPRequiresToken(t *testing.T) {
	if _, err := NewServer(nothing{}, "test", "").NewHTTPHandler(HTTPOptions{}); err == nil {
		t.Error("a handler without a token was made")
	}
}

func TestTokenCheckedInSession(t *testing.T) {
	server := NewServer(nothing{}, "test", "")
	t.Cleanup(func() { server.EndAllSessions(context.Background()) })
	handler, err := server.NewHTTPHandler(HTTPOptions{Token: "the token"})
	if err != nil {
		t.Fatal(err)
	}
	send := func(method, authorization, sess, message string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, "http://localhost"+Path, strings.NewReader(message))
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
		if authorization != "" {
			r.Header.Set("Authorization", authorization)
		}
		if sess != "" {
			r.Header.Set(sessionHeader, sess)
		}
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		return w
	}
	sess := send(http.MethodPost, "Bearer the token", "", hello).Header().Get(sessionHeader)
	for _, authorization := range []string{"", "Bearer another", "Bearer the toke", "Basic the token"} {
		for _, method := range []string{http.MethodPost, http.MethodDelete, http.MethodGet} {
			if got := send(method, authorization, sess, ping).Code; got != http.StatusUnauthorized {
				t.Errorf("%s with the authorization %q in a session: %d", method, authorization, got)
			}
		}
	}
	if got := send(http.MethodPost, "Bearer the token", sess, ping); got.Code != http.StatusOK {
		t.Errorf("with the token: %d %s", got.Code, got.Body)
	}
}

func FuzzGate(f *testing.F) {
	f.Add("localhost:80", "http://localhost:80", "Bearer the token")
	f.Add("[::1]", "null", "bearer  the token")
	f.Add("a.example", "://", "Bearer")
	f.Fuzz(func(t *testing.T, host, origin, authorization string) {
		passed := false
		g := &httpAccessGate{readToken: func() (string, error) { return "the token", nil }, next: http.HandlerFunc(func(http.ResponseWriter, *http.Request) { passed = true })}
		r := httptest.NewRequest(http.MethodPost, Path, nil)
		r.Host = host
		r.Header["Origin"], r.Header["Authorization"] = []string{origin}, []string{authorization}
		g.ServeHTTP(httptest.NewRecorder(), r)
		if !passed {
			return
		}
		scheme, token, _ := strings.Cut(authorization, " ")
		if !strings.EqualFold(scheme, "bearer") || strings.TrimSpace(token) != "the token" {
			t.Errorf("%q was let in", authorization)
		}
		if !strings.HasSuffix(strings.ToLower(origin), strings.ToLower(host)) {
			if _, after, _ := strings.Cut(origin, "://"); !strings.HasPrefix(strings.ToLower(after), strings.ToLower(host)) {
				t.Errorf("a page of %q was let in to %q", origin, host)
			}
		}
	})
}

// deadlineRecorder records the read deadline of a connection.
type deadlineRecorder struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (d *deadlineRecorder) SetReadDeadline(at time.Time) error {
	d.deadline = at
	return nil
}

func TestIncompleteBodiesKeepDeadline(t *testing.T) {
	t.Parallel()
	server := NewServer(nothing{}, "test", "")
	t.Cleanup(func() { server.EndAllSessions(context.Background()) })
	handler, err := server.NewHTTPHandler(HTTPOptions{Token: "the token"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		token  string
		length int64
		limit  bool
	}{
		"whole":        {"the token", int64(len(hello)), false},
		"chunked":      {"the token", -1, false},
		"cut":          {"the token", int64(len(hello)) + 1, true},
		"unauthorized": {"another", int64(len(hello)), true},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://localhost"+Path, strings.NewReader(hello))
		r.ContentLength = c.length
		r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
			"Authorization": {"Bearer " + c.token}}
		w := &deadlineRecorder{ResponseRecorder: httptest.NewRecorder()}
		handler.ServeHTTP(w, r)
		if w.deadline.IsZero() == c.limit || time.Until(w.deadline) > bodyTimeout {
			t.Errorf("%s: deadline %v", name, w.deadline)
		}
	}
}
