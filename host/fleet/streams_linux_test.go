package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/fleet/storage"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

func TestASlowReaderSlowsItsOwnCallOnly(t *testing.T) {
	address := startNATS(t)
	const pieces = 100
	var emitted atomic.Int64
	b := &bench{}
	b.tool(t, "much", func(_ context.Context, _ string, events func(session.CallEvent)) *session.Result {
		for i := range pieces {
			events(session.CallEvent{Output: []byte(strings.Repeat(string(rune('a'+i%26)), 300<<10))}) // two messages
			emitted.Add(1)
		}
		return &session.Result{Text: "all", Answered: true}
	})
	b.tool(t, "echo", func(_ context.Context, text string, _ func(session.CallEvent)) *session.Result {
		return &session.Result{Text: text, Answered: true}
	})
	b.work(t, joined(t, address, "one"), "one")
	s := caller(t, joined(t, address, "gateway"), "main")
	slow := make(chan struct{})
	began := make(chan struct{}, 1)
	var got strings.Builder
	results := make(chan *session.Result)
	go func() {
		results <- s.Call(context.Background(), "much", args(""), func(e session.CallEvent) {
			select {
			case began <- struct{}{}:
			default:
			}
			<-slow
			got.Write(e.Output)
		})
	}()
	<-began
	for i := range 50 {
		if r := s.Call(t.Context(), "echo", args(fmt.Sprint(i)), nil); r.Err != nil || r.Text != fmt.Sprint(i) {
			t.Fatalf("%+v %v", r, r.Err)
		}
	}
	if n := emitted.Load(); n > window {
		t.Errorf("%d pieces were sent to a reader that has read none", n)
	}
	close(slow)
	if r := <-results; r.Err != nil || r.Text != "all" {
		t.Errorf("%+v %v", r, r.Err)
	}
	var want strings.Builder
	for i := range pieces {
		want.WriteString(strings.Repeat(string(rune('a'+i%26)), 300<<10))
	}
	if got.String() != want.String() {
		t.Errorf("%d bytes of output, not the %d that there were", got.Len(), want.Len())
	}
}

func TestEventsArriveAsTheyWere(t *testing.T) {
	address := startNATS(t)
	sent := []session.CallEvent{{Output: []byte("out\xff")}, {Output: []byte("err"), Stderr: true}, {Output: []byte{}},
		{Done: 1, Total: 3, Message: "a third"},
		{Log: &session.LogMessage{Level: 8, Message: "oh", Attributes: json.RawMessage(`{"a":"<"}`)}}}
	b := &bench{}
	b.tool(t, "tell", func(_ context.Context, _ string, events func(session.CallEvent)) *session.Result {
		for _, e := range sent {
			events(e)
		}
		return &session.Result{Text: "t", Answered: true}
	})
	b.work(t, joined(t, address, "one"), "one")
	s := caller(t, joined(t, address, "gateway"), "main")
	var got []session.CallEvent
	s.Call(t.Context(), "tell", args(""), func(e session.CallEvent) { got = append(got, e) })
	a, _ := json.Marshal(sent)
	z, _ := json.Marshal(got)
	if string(a) != string(z) {
		t.Errorf("\n%s\n%s", a, z)
	}
}

func TestACallIsCancelled(t *testing.T) {
	address := startNATS(t)
	begun := make(chan struct{}, 100)
	b := &bench{}
	b.tool(t, "wait", func(ctx context.Context, _ string, _ func(session.CallEvent)) *session.Result {
		begun <- struct{}{}
		<-ctx.Done()
		return &session.Result{Err: &session.Error{Code: "cancelled", Message: "the tool says so"}, Answered: true}
	})
	b.work(t, joined(t, address, "one"), "one")
	s := caller(t, joined(t, address, "gateway"), "main")
	ctx, cancel := context.WithCancel(t.Context())
	results := make(chan *session.Result)
	go func() { results <- s.Call(ctx, "wait", args(""), nil) }()
	<-begun
	cancel()
	if r := <-results; r.Err == nil || r.Err.Message != "the tool says so" {
		t.Errorf("%+v %v", r, r.Err)
	}
	// On a busy machine it may take more time than there is for a call to begin.
	limit := 100 * time.Millisecond
	hosttest.WaitUntil(t, "a call begins in time", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		defer cancel()
		limit *= 2
		r := s.Call(ctx, "wait", args(""), nil)
		if len(begun) == 0 {
			return false
		}
		if r.Err == nil || r.Err.Message != "the tool says so" {
			t.Errorf("out of time: %+v %v", r, r.Err)
		}
		return true
	})
}

func TestALargeAnswerGoesThroughTheObjectStore(t *testing.T) {
	address := startNATS(t)
	b := &bench{}
	large := strings.Repeat("0123456789abcdef", 5<<16)
	b.tool(t, "large", func(context.Context, string, func(session.CallEvent)) *session.Result {
		return &session.Result{Text: large, Answered: true}
	})
	b.work(t, joined(t, address, "one"), "one")
	f := joined(t, address, "gateway")
	s := caller(t, f, "main")
	if r := s.Call(t.Context(), "large", args(""), nil); r.Err != nil || r.Text != large {
		t.Errorf("%d bytes, %v", len(r.Text), r.Err)
	}
	call := request{ID: "large", Origin: session.CLI, Tool: "large"}
	r, _ := said(t, raw(t, f, call, args("")))
	if r.Kind != kindLarge {
		t.Fatalf("%+v", r)
	}
	if err := storage.Put(t.Context(), f.js, subject.Results, "main", r.Object, strings.NewReader("another")); err != nil {
		t.Fatal(err)
	}
	if _, err := f.fetch(t.Context(), r.Object, r.Digest); err == nil {
		t.Error("an object that was changed is taken")
	}
}

func TestNobodyServesAnAgent(t *testing.T) {
	address := startNATS(t)
	b := &bench{}
	b.tool(t, "echo", func(_ context.Context, text string, _ func(session.CallEvent)) *session.Result {
		return &session.Result{Text: text}
	})
	stop := b.work(t, joined(t, address, "one"), "one")
	f := joined(t, address, "gateway")
	s := caller(t, f, "main")
	stop()
	if r := s.Call(t.Context(), "echo", args(""), nil); r.Err == nil || r.Err.Code != "unavailable" {
		t.Errorf("%+v %v", r, r.Err)
	}
	if _, err := s.client.Session(t.Context(), "nobody", session.CLI); err == nil {
		t.Error("there is a session of an agent that nobody has")
	}
}
