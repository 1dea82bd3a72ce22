package fleet

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Who asks again says in whose tenure it asked first: epochs alone come again where NATS has lost its store.
func TestACallMayBeMadeThatNoTenureOfTheWorkersHasBegun(t *testing.T) {
	address := startNATS(t)
	b := &bench{}
	var runs atomic.Int64
	b.tool(t, "note", func(context.Context, string, func(session.CallEvent)) *session.Result {
		runs.Add(1)
		return &session.Result{}
	})
	stop := b.work(t, joined(t, address, "one"), "one")
	f := joined(t, address, "gateway")
	was, err := f.where(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	stop()
	b.work(t, joined(t, address, "one"), "one")
	for _, test := range []struct {
		id, life string
		kind     string
	}{{"lost on its way", was.Instance, kindAnswer}, {"begun by somebody else", "of another", kindUnknown},
		{"begun by nobody knows whom", "", kindUnknown}} {
		call := request{ID: test.id, First: was.epoch, Life: test.life, Origin: session.CLI, Tool: "note"}
		if r, _ := said(t, raw(t, f, call, args(""))); r.Kind != test.kind {
			t.Errorf("%s: %+v", test.id, r)
		}
	}
	if n := runs.Load(); n != 1 {
		t.Errorf("%d calls were made", n)
	}
}

// oneForAll has the sessions of agent main for all agents.
type oneForAll struct{ *session.Host }

func (h oneForAll) OpenSession(_ string, o session.Origin) (*session.Session, error) {
	return h.Host.OpenSession("main", o)
}

// A journal that waits for its disk, as one does that is frozen for a backup, has its own agent wait and no other one.
func TestAJournalThatWaitsCostsNoLease(t *testing.T) {
	address := startNATS(t)
	b := &bench{}
	release := make(chan struct{})
	b.tool(t, "wait", func(ctx context.Context, _ string, _ func(session.CallEvent)) *session.Result {
		select {
		case <-release:
			return &session.Result{Text: "released"}
		case <-ctx.Done():
			return &session.Result{Err: &session.Error{Code: pluginpb.CodeCancelled, Message: "ended"}}
		}
	})
	h := oneForAll{b.host(t)}
	w, err := NewWorker(joined(t, address, "one"), WorkerOptions{Name: "one", Agents: []string{"main", "other"},
		Home: b.home, Host: h, Describe: func(*session.Session) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended, taken := make(chan error, 1), make(chan string, 9)
	go func() { ended <- w.Run(ctx, func(agent string) { taken <- agent }) }()
	defer func() { cancel(); <-ended }()
	<-taken
	<-taken
	f := joined(t, address, "gateway")
	before, err := f.where(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	results := make(chan *session.Result, 3)
	call := func(s *Session) { results <- s.Call(context.WithoutCancel(ctx), "wait", args(""), nil) }
	main, other := caller(t, f, "main"), caller(t, f, "other")
	go call(other)
	hosttest.WaitUntil(t, "the call runs", func() bool { return w.has("other").busy() == 1 })
	served := w.has("main")
	served.journal.mu.Lock()
	go call(main)
	go call(main)
	hosttest.WaitUntil(t, "a call waits for the journal", func() bool {
		free := served.mu.TryLock()
		if free {
			served.mu.Unlock()
		}
		return !free
	})
	time.Sleep(sureFor + renewEvery) // a lease that is not renewed has ended then
	after, err := f.where(t.Context(), "other")
	served.journal.mu.Unlock()
	if err != nil || after.epoch != before.epoch {
		t.Errorf("the other agent was with epoch %d, and is with %d: %v", before.epoch, after.epoch, err)
	}
	close(release)
	for range 3 {
		if r := <-results; r.Text != "released" {
			t.Errorf("%+v %v", r, r.Err)
		}
	}
}
