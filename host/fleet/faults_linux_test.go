package fleet

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

// lay lays a cable to NATS, and returns it with the address at its other end.
func lay(t *testing.T, address string) (*hosttest.FlakyProxy, string) {
	t.Helper()
	c, far := hosttest.NewFlakyLink(t, strings.TrimPrefix(address, "nats://"))
	return c, "nats://" + far
}

// raw sends a request as it is, and returns the subject on which it is answered.
func raw(t *testing.T, f *Fleet, r request, arguments []byte) *nats.Subscription {
	t.Helper()
	p, err := f.where(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	if r.Epoch == 0 {
		r.Epoch = p.epoch
	}
	if r.V == 0 {
		r.envelope = sealed()
	}
	if r.Digest == "" {
		r.Digest = digest(&r, "main", arguments)
	}
	data, err := encode(r, arguments)
	if err != nil {
		t.Fatal(err)
	}
	to := f.from("main") + "raw.x." + nats.NewInbox()[len("_INBOX."):]
	sub, err := f.conn.SubscribeSync(to)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.conn.PublishRequest(f.to("main", subject.Call), to, data); err != nil {
		t.Fatal(err)
	}
	return sub
}

// said is the next thing that is answered.
func said(t *testing.T, sub *nats.Subscription) (*reply, []byte) {
	t.Helper()
	m, err := sub.NextMsg(30 * time.Second)
	if err != nil {
		t.Fatal(err)
	}
	r, body, err := decode[reply](m.Data)
	if err != nil {
		t.Fatal(err)
	}
	return r, body
}

func TestACallThatComesTwiceIsMadeOnce(t *testing.T) {
	address := startNATS(t)
	var runs atomic.Int64
	b := &bench{}
	b.tool(t, "count", func(_ context.Context, text string, _ func(session.CallEvent)) *session.Result {
		return &session.Result{Text: fmt.Sprint(text, runs.Add(1)), Answered: true}
	})
	stop := b.work(t, joined(t, address, "one"), "one")
	f := joined(t, address, "gateway")
	call := request{ID: "twice", Origin: session.CLI, Tool: "count"}
	first, second := raw(t, f, call, args("a")), raw(t, f, call, args("a"))
	r, body := said(t, first)
	if r.Kind != kindAnswer || string(body) != "a1" {
		t.Fatalf("%+v %s", r, body)
	}
	if r, body = said(t, second); r.Kind != kindRunning && string(body) != "a1" {
		t.Errorf("the second: %+v %s", r, body)
	}
	if r, body = said(t, raw(t, f, call, args("a"))); r.Kind != kindAnswer || string(body) != "a1" {
		t.Errorf("later: %+v %s", r, body)
	}
	if r, _ = said(t, raw(t, f, call, args("b"))); r.Kind != kindRefused {
		t.Errorf("another call with its id: %+v", r)
	}
	stop()
	stop = b.work(t, joined(t, address, "one"), "one") // another life, the same journal
	if r, body = said(t, raw(t, f, call, args("a"))); r.Kind != kindAnswer || string(body) != "a1" {
		t.Errorf("in another life: %+v %s", r, body)
	}
	call.ID, call.First = "other", 1 // the epoch of somebody else
	if r, _ = said(t, raw(t, f, call, args("a"))); r.Kind != kindUnknown {
		t.Errorf("a call that another worker may have made: %+v", r)
	}
	stop()
	if n := runs.Load(); n != 1 {
		t.Errorf("it was made %d times", n)
	}
}

func TestWhatIsNoCallersIsNotServed(t *testing.T) {
	address := startNATS(t)
	b := &bench{}
	b.tool(t, "echo", func(_ context.Context, text string, _ func(session.CallEvent)) *session.Result {
		return &session.Result{Text: text, Answered: true}
	})
	b.work(t, joined(t, address, "one"), "one")
	f := joined(t, address, "gateway")
	for name, r := range map[string]request{
		"too old":        {envelope: envelope{V: -1}, ID: "a", Origin: session.CLI, Tool: "echo"},
		"too new":        {envelope: envelope{V: 9, Needs: 9}, ID: "b", Origin: session.CLI, Tool: "echo"},
		"another origin": {ID: "c", Origin: session.Main, Tool: "echo"},
		"changed":        {ID: "d", Origin: session.CLI, Tool: "echo", Digest: "00"},
	} {
		if got, _ := said(t, raw(t, f, r, args("a"))); got.Kind != kindRefused || got.Why == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, _ := said(t, raw(t, f, request{ID: "e", Origin: session.CLI, Tool: "echo", Epoch: 99}, args("a"))); got.Kind != kindMoved {
		t.Errorf("another epoch: %+v", got)
	}
	newer := []byte(`{"v":2,"needs":1,"id":"f","epoch":%d,"origin":"cli","tool":"echo","digest":%q,"spice":["new"]}` +
		"\n" + `{"text":"hi"}`)
	p, err := f.where(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	arguments := []byte(`{"text":"hi"}`)
	text := fmt.Sprintf(string(newer), p.epoch, digest(&request{Origin: session.CLI, Tool: "echo"}, "main", arguments))
	for to, answered := range map[string]bool{f.from("main") + "x.y.z": true, f.from("main") + "x": false,
		f.from("other") + "x.y.z": false, "_INBOX.x": false} {
		sub, err := f.conn.SubscribeSync(to)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.conn.PublishRequest(f.to("main", subject.Call), to, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if answered {
			if _, err := sub.NextMsg(30 * time.Second); err != nil {
				t.Errorf("%s: %v", to, err)
			}
			continue
		}
		// An answer of a call that is served comes after this one was turned away.
		said(t, raw(t, f, request{ID: "after" + to, Origin: session.CLI, Tool: "echo"}, args("a")))
		if n, _, err := sub.Pending(); err != nil || n > 0 {
			t.Errorf("%s: %d answers, %v", to, n, err)
		}
	}
}

func TestAnAnswerThatWasLostIsAskedForAgain(t *testing.T) {
	address := startNATS(t)
	c, far := lay(t, address)
	var runs atomic.Int64
	begun, release := make(chan struct{}), make(chan struct{})
	b := &bench{}
	b.tool(t, "wait", func(context.Context, string, func(session.CallEvent)) *session.Result {
		runs.Add(1)
		close(begun)
		<-release
		return &session.Result{Text: "done", Answered: true}
	})
	b.work(t, joined(t, address, "one"), "one")
	s := caller(t, joined(t, far, "gateway"), "main")
	results := make(chan *session.Result)
	go func() { results <- s.Call(context.Background(), "wait", args(""), nil) }()
	<-begun
	c.Cut()
	close(release)
	hosttest.WaitUntil(t, "the answer is written down", func() bool {
		data, err := os.ReadFile(filepath.Join(b.home, "fleet", "journal", "main"))
		return err == nil && strings.Contains(string(data), `"done"`)
	})
	c.Restore()
	if r := <-results; r.Err != nil || r.Text != "done" {
		t.Errorf("%+v %v", r, r.Err)
	}
	if n := runs.Load(); n != 1 {
		t.Errorf("it was made %d times", n)
	}
}

func TestAWorkerThatIsCutOffEndsItsCallsBeforeAnotherTakesItsAgents(t *testing.T) {
	address := startNATS(t)
	c, far := lay(t, address)
	begun := make(chan struct{})
	var ended, taken atomic.Int64 // when
	clock := time.Now()
	first := &bench{}
	first.tool(t, "wait", func(ctx context.Context, _ string, _ func(session.CallEvent)) *session.Result {
		close(begun)
		<-ctx.Done()
		ended.Store(int64(time.Since(clock)))
		return &session.Result{Text: "never", Answered: true}
	})
	first.work(t, joined(t, far, "one"), "one")
	f := joined(t, address, "gateway")
	before, err := f.where(t.Context(), "main")
	if err != nil {
		t.Fatal(err)
	}
	s := caller(t, f, "main")
	second := &bench{}
	second.tool(t, "wait", func(context.Context, string, func(session.CallEvent)) *session.Result {
		return &session.Result{Text: "second", Answered: true}
	})
	second.home = hosttest.TempDir(t)
	w, err := NewWorker(joined(t, address, "standby"), WorkerOptions{Name: "standby", Agents: []string{"main"}, Home: second.home,
		Host: second.host(t), Describe: func(*session.Session) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- w.Run(ctx, func(string) { taken.Store(int64(time.Since(clock))) }) }()
	defer func() { cancel(); <-over }()
	results := make(chan *session.Result)
	go func() { results <- s.Call(context.Background(), "wait", args(""), nil) }()
	<-begun
	cut := time.Since(clock)
	c.Cut()
	if r := <-results; r.Err == nil || r.Err.Code != CodeUnknown {
		t.Errorf("the call that was begun: %+v %v", r, r.Err)
	}
	hosttest.WaitUntil(t, "the standby has said that it has taken the agent", func() bool { return taken.Load() != 0 })
	if ended.Load() == 0 || ended.Load() > taken.Load() {
		t.Errorf("the call ended after %s, and the agent was taken after %s", time.Duration(ended.Load()),
			time.Duration(taken.Load()))
	}
	t.Logf("the agent was taken %s after the cut", time.Duration(taken.Load())-cut)
	after, err := f.where(t.Context(), "main")
	if err != nil || after.epoch <= before.epoch || after.Worker != "standby" {
		t.Errorf("%+v then %+v, %v", before, after, err)
	}
	c.Restore()
	if r := s.Call(t.Context(), "wait", args(""), nil); r.Err != nil || r.Text != "second" {
		t.Errorf("a call after that: %+v %v", r, r.Err)
	}
}

// A network that loses messages one way tells neither end.
func TestSilentNetworkMovesAgent(t *testing.T) {
	for name, lost := range map[string]struct{ sent, received bool }{
		"worker's messages": {true, false}, "messages to the worker": {false, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := startNATS(t)
			c, far := lay(t, address)
			begun, ended := make(chan struct{}), atomic.Bool{}
			first, second := &bench{}, &bench{home: hosttest.TempDir(t)}
			first.tool(t, "wait", func(ctx context.Context, _ string, _ func(session.CallEvent)) *session.Result {
				close(begun)
				<-ctx.Done()
				ended.Store(true)
				return &session.Result{Text: "never", Answered: true}
			})
			first.work(t, joined(t, far, "one"), "one")
			gateway := joined(t, address, "gateway")
			before := has(t, gateway, "one")
			standby, err := NewWorker(joined(t, address, "standby"), WorkerOptions{Name: "standby", Agents: []string{"main"},
				Home: second.home, Host: second.host(t), Describe: func(*session.Session) string { return "" }})
			if err != nil {
				t.Fatal(err)
			}
			runs(t, standby)
			there(t, gateway, 2)
			s, result := caller(t, gateway, "main"), make(chan *session.Result, 1)
			go func() { result <- s.Call(context.Background(), "wait", args(""), nil) }()
			<-begun
			cut := time.Now()
			c.PauseData(lost.sent, lost.received)
			if after := has(t, gateway, "standby"); after.epoch <= before.epoch || !ended.Load() {
				t.Errorf("epoch %d after %d; the call has ended: %t", after.epoch, before.epoch, ended.Load())
			}
			t.Logf("the agent was taken %s after the loss", time.Since(cut))
			c.PauseData(false, false) // what was sent meanwhile arrives late
			if r := <-result; r.Err == nil || r.Err.Code != CodeUnknown {
				t.Errorf("the call that was begun: %+v %v", r, r.Err)
			}
			if now := has(t, gateway, "standby"); now.epoch <= before.epoch {
				t.Errorf("epoch %d after %d", now.epoch, before.epoch)
			}
		})
	}
}

func TestAWorkerThatEndsGivesItsAgentsAway(t *testing.T) {
	address := startNATS(t)
	tool := func(text string) func(context.Context, string, func(session.CallEvent)) *session.Result {
		return func(context.Context, string, func(session.CallEvent)) *session.Result {
			return &session.Result{Text: text, Answered: true}
		}
	}
	first, second := &bench{}, &bench{}
	first.tool(t, "who", tool("first"))
	second.tool(t, "who", tool("second"))
	stop := first.work(t, joined(t, address, "one"), "one")
	s := caller(t, joined(t, address, "gateway"), "main")
	if r := s.Call(t.Context(), "who", args(""), nil); r.Text != "first" {
		t.Errorf("%+v %v", r, r.Err)
	}
	stop()
	second.work(t, joined(t, address, "two"), "two")
	hosttest.WaitUntil(t, "the caller has heard of it", func() bool {
		s.client.mu.Lock()
		defer s.client.mu.Unlock()
		return s.client.places["main"] == nil
	})
	if r := s.Call(t.Context(), "who", args(""), nil); r.Text != "second" {
		t.Errorf("%+v %v", r, r.Err)
	}
}

// victimVariable has this test be a worker that is killed: it holds where NATS is, and the instance root.
const victimVariable = "PICOCLAW_TEST_VICTIM"

func TestAWorkerThatIsKilledDoesNotMakeACallAgain(t *testing.T) {
	noted := func(home string) func(context.Context, string, func(session.CallEvent)) *session.Result {
		return func(ctx context.Context, _ string, _ func(session.CallEvent)) *session.Result {
			f, err := os.OpenFile(filepath.Join(home, "runs"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
			if err == nil {
				_, err = f.WriteString("run\n")
				_ = f.Close()
			}
			if err != nil {
				return &session.Result{Err: &session.Error{Message: err.Error()}}
			}
			<-ctx.Done()
			return &session.Result{}
		}
	}
	if text := os.Getenv(victimVariable); text != "" {
		address, home, _ := strings.Cut(text, " ")
		b := &bench{home: home}
		b.tool(t, "note", noted(home))
		b.work(t, joined(t, address, "one"), "one")
		select {}
	}
	for name, test := range map[string]struct {
		lose func(journal []byte) []byte
		says string
	}{
		"alone": {func(journal []byte) []byte { return journal }, "has begun the call"},
		"with its machine, which starts anew without the last of what was written": {func(journal []byte) []byte {
			taken, _, _ := bytes.Cut(journal, []byte(`{"begun":`))
			return bytes.ReplaceAll(taken, []byte(bootID()), []byte("the one before"))
		}, "was started anew"},
	} {
		t.Run(name, func(t *testing.T) {
			address := startNATS(t)
			home := hosttest.TempDir(t)
			start := func() *exec.Cmd {
				cmd := exec.Command(os.Args[0], "-test.run", "^TestAWorkerThatIsKilledDoesNotMakeACallAgain$")
				cmd.Env = append(os.Environ(), victimVariable+"="+address+" "+home)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
				return cmd
			}
			victim := start()
			f := joined(t, address, "gateway")
			hosttest.WaitUntil(t, "the worker serves", func() bool { _, err := f.where(t.Context(), "main"); return err == nil })
			s := caller(t, f, "main")
			results := make(chan *session.Result)
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute) // one that is made twice does not end
			defer cancel()
			go func() { results <- s.Call(ctx, "note", args(""), nil) }()
			runs := func() int {
				data, _ := os.ReadFile(filepath.Join(home, "runs"))
				return strings.Count(string(data), "run")
			}
			hosttest.WaitUntil(t, "the call runs", func() bool { return runs() == 1 })
			if err := victim.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_ = victim.Wait()
			journal := filepath.Join(home, "fleet", "journal", "main")
			text, err := os.ReadFile(journal)
			if err == nil {
				err = os.WriteFile(journal, test.lose(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			start()
			if r := <-results; r.Err == nil || r.Err.Code != CodeUnknown || !strings.Contains(r.Err.Message, test.says) {
				t.Errorf("%+v %v", r, r.Err)
			}
			if n := runs(); n != 1 {
				t.Errorf("it was made %d times", n)
			}
		})
	}
}
