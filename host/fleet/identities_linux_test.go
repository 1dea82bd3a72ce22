package fleet

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/fleet/hub"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

// startHub serves a hub on this machine.
func startHub(t testing.TB) *hub.Hub {
	t.Helper()
	h, err := hub.Open(hosttest.TempDir(t) + "/hub")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Listen("127.0.0.1:0", nil); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ready, served := make(chan string, 1), make(chan error, 1)
	go func() { served <- h.Serve(ctx, hclog.NewNullLogger(), func(at string) { ready <- at }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	select {
	case <-ready:
	case err := <-served:
		served <- nil // for the cleanup
		t.Fatal(err)
	}
	return h
}

// joinHub enrolls a machine and connects it.
func joinHub(t testing.TB, h *hub.Hub, machine hub.Identity) *Fleet {
	t.Helper()
	id, err := h.Add(t.Context(), "main", machine)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := id.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	f, err := Join(t.Context(), conn, id.Tenant)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// With what a hub lets each of them do, a worker serves and a gateway calls: large arguments, large answers, output.
func TestIdentitiesOfAHubAreEnough(t *testing.T) {
	h := startHub(t)
	join := func(name, role string, agents ...string) *Fleet {
		return joinHub(t, h, hub.Identity{Name: name, Role: role, Agents: agents})
	}
	large := strings.Repeat("0123456789abcdef", 5<<16)
	b := &bench{}
	b.tool(t, "large", func(_ context.Context, text string, events func(session.CallEvent)) *session.Result {
		for range 100 {
			events(session.CallEvent{Output: []byte(text[:100_000])})
		}
		return &session.Result{Text: large, Answered: true}
	})
	stop := b.work(t, join("one", identity.Worker, "main"), "one")
	gateway := join("front", identity.Gateway)
	s := caller(t, gateway, "main")
	output := 0
	r := s.Call(t.Context(), "large", args(large[:2<<20]), func(e session.CallEvent) { output += len(e.Output) })
	if r.Err != nil || r.Text != large || output != 100*100_000 {
		t.Errorf("%d bytes, %d of output, %v", len(r.Text), output, r.Err)
	}
	if workers, agents, err := gateway.Status(t.Context()); err != nil || len(workers) != 1 || len(agents) != 1 ||
		!agents[0].Alive {
		t.Errorf("%+v %+v %v", workers, agents, err)
	}
	stop() // takes the entries away
	if _, agents, err := gateway.Status(t.Context()); err != nil || len(agents) != 0 {
		t.Errorf("%+v %v", agents, err)
	}

	// Another worker's key reaches no agent but its own.
	other := join("two", identity.Worker, "reader")
	thief := &bench{home: hosttest.TempDir(t)}
	w, err := NewWorker(other, WorkerOptions{Name: "two", Agents: []string{"main"}, Home: thief.home, Host: thief.host(t),
		Describe: func(*session.Session) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	short, end := context.WithTimeout(t.Context(), 2*time.Second)
	defer end()
	if err := w.Run(short, func(agent string) { t.Errorf("it has taken %s", agent) }); err != nil {
		t.Error(err)
	}
	if _, err := gateway.where(t.Context(), "main"); err == nil {
		t.Error("it has taken the agent")
	}
}
