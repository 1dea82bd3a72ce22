package fleet

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

// Calls go on while cables are cut and mended, messages come twice and late, and the worker loses its agent to another
// and back. None is made twice, and none that was answered was not made.
func TestNoCallIsMadeTwiceWhateverHappens(t *testing.T) {
	calls, callers := 10_000, 100
	if testing.Short() {
		calls, callers = 600, 60
	}
	address := startNATS(t)
	var mu sync.Mutex
	made := map[string]int{}
	count := func(ctx context.Context, text string, _ func(session.CallEvent)) *session.Result {
		mu.Lock()
		made[text]++
		mu.Unlock()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rand.IntN(400)) * time.Millisecond):
		}
		return &session.Result{Text: "made " + text, Answered: true}
	}
	var cables []*hosttest.FlakyProxy
	for _, name := range []string{"one", "standby"} {
		b := &bench{home: hosttest.TempDir(t)}
		b.tool(t, "count", count)
		c, far := lay(t, address)
		cables = append(cables, c)
		w, err := NewWorker(joined(t, far, name), WorkerOptions{Name: name, Agents: []string{"main"}, Home: b.home,
			Host: b.host(t), Describe: func(*session.Session) string { return "" }})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- w.Run(ctx, nil) }()
		t.Cleanup(func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
	c, far := lay(t, address)
	cables = append(cables, c)
	s := caller(t, joined(t, far, "gateway"), "main")
	again(t, joined(t, address, "echo"))

	over := make(chan struct{})
	var trouble sync.WaitGroup
	trouble.Go(func() {
		for {
			select {
			case <-over:
				return
			case <-time.After(time.Duration(200+rand.IntN(600)) * time.Millisecond):
			}
			c := cables[rand.IntN(len(cables))]
			c.Cut()
			// Often it is short; sometimes so long that the agent is with another worker afterwards.
			time.Sleep([]time.Duration{50, 200, 1000, 4000}[min(rand.IntN(8), 3)] * time.Millisecond)
			c.Restore()
		}
	})
	texts := make(chan string)
	outcomes := make(map[string]int)
	var all sync.WaitGroup
	for range callers {
		all.Go(func() {
			for text := range texts {
				r := s.Call(context.Background(), "count", args(text), nil)
				outcome := "answered"
				if r.Err != nil {
					outcome = r.Err.Code
				}
				mu.Lock()
				outcomes[outcome]++
				switch n := made[text]; {
				case n > 1, n == 0 && outcome == "answered", n > 0 && outcome == "unavailable",
					outcome != "answered" && outcome != "unavailable" && outcome != CodeUnknown && outcome != "cancelled":
					t.Errorf("%s was made %d times: %+v %v", text, n, r, r.Err)
				}
				mu.Unlock()
				time.Sleep(time.Duration(rand.IntN(500)) * time.Millisecond)
			}
		})
	}
	for i := range calls {
		texts <- fmt.Sprint(i)
	}
	close(texts)
	all.Wait()
	close(over)
	trouble.Wait()
	mu.Lock()
	defer mu.Unlock()
	for text, n := range made {
		if n > 1 {
			t.Errorf("%s was made %d times", text, n)
		}
	}
	t.Logf("%d calls: %v", calls, outcomes)
	if outcomes["answered"] < calls/2 {
		t.Errorf("hardly any were answered: %v", outcomes)
	}
}

// again has calls come twice: the second time at once, or late.
func again(t *testing.T, f *Fleet) {
	t.Helper()
	const mark = "Seen" // or they would come for ever
	_, err := f.conn.Subscribe(f.to("main", subject.Call), func(m *nats.Msg) {
		if m.Header.Get(mark) != "" {
			return
		}
		twice := &nats.Msg{Subject: m.Subject, Reply: m.Reply, Data: m.Data, Header: nats.Header{mark: {"1"}}}
		time.AfterFunc(time.Duration(rand.IntN(3000))*time.Millisecond, func() { _ = f.conn.PublishMsg(twice) })
	})
	if err != nil {
		t.Fatal(err)
	}
}
