package fleet

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// startNATS starts a NATS server with JetStream on this machine.
func startNATS(t testing.TB) (address string) {
	t.Helper()
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true,
		StoreDir: hosttest.TempDir(t), NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(30 * time.Second) {
		t.Fatal("the NATS server does not come up")
	}
	return s.ClientURL()
}

// joined is a connection to the fleet.
func joined(t testing.TB, address, name string) *Fleet {
	t.Helper()
	conn, err := identity.Dial(address, name, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	f, err := Join(t.Context(), conn, "default")
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// bench is a machine with tools for tests: what they do is told by the test.
type bench struct {
	home  string
	tools []session.BuiltinTool
}

// tooled is what a tool does with its text.
type tooled func(ctx context.Context, text string, events func(session.CallEvent)) *session.Result

// tool adds a tool that takes a text.
func (b *bench) tool(t testing.TB, name string, call tooled) {
	t.Helper()
	type in struct {
		Text string `json:"text,omitempty"`
	}
	own, err := session.NewBuiltinTool(name, "Tests.",
		func(context.Context, *session.Session, in) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	own.Call = func(ctx context.Context, _ *session.Session, arguments json.RawMessage,
		events func(session.CallEvent)) *session.Result {
		var in in
		if err := json.Unmarshal(arguments, &in); err != nil {
			return &session.Result{Err: &session.Error{Code: pluginpb.CodeInvalidArgument, Message: err.Error()}}
		}
		return call(ctx, in.Text, events)
	}
	b.tools = append(b.tools, own)
}

func (b *bench) host(t testing.TB) *session.Host {
	t.Helper()
	if b.home == "" {
		b.home = hosttest.TempDir(t)
	}
	cfg, err := config.Load(config.LoadOptions{Environ: []string{"HOME=" + b.home, "PICOCLAW_HOME=" + b.home}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg, PluginDir: filepath.Join(hosttest.ProgramDir(), "plugins"),
		Builtin: []session.BuiltinPlugin{{ID: "bench", Tools: b.tools}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

// work has a worker serve the bench's agent. stop ends it.
func (b *bench) work(t testing.TB, f *Fleet, name string, agents ...string) (stop func()) {
	t.Helper()
	if len(agents) == 0 {
		agents = []string{"main"}
	}
	h := b.host(t)
	return runWorker(t, f, WorkerOptions{Name: name, Agents: agents, Home: b.home, Host: h, Version: "test"})
}

// runWorker runs a worker and waits until it has an agent. stop ends it.
func runWorker(t testing.TB, f *Fleet, o WorkerOptions) (stop func()) {
	t.Helper()
	o.Describe = func(*session.Session) string { return "a bench" }
	w, err := NewWorker(f, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	taken := make(chan string, 100)
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, func(agent string) { taken <- agent }) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	select {
	case <-taken:
	case <-time.After(30 * time.Second):
		t.Fatal("the worker does not get its agent")
	}
	return stop
}

func caller(t testing.TB, f *Fleet, agent string) *Session {
	t.Helper()
	c, err := NewClient(f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	s, err := c.Session(t.Context(), agent, session.CLI)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func args(text string) json.RawMessage {
	data, _ := json.Marshal(map[string]string{"text": text})
	return data
}

func TestACallIsCarriedToTheWorker(t *testing.T) {
	address := startNATS(t)
	b := &bench{}
	b.tool(t, "echo", func(_ context.Context, text string, _ func(session.CallEvent)) *session.Result {
		return &session.Result{Text: "you said " + text, Answered: true, Structured: json.RawMessage(`{"a":"<b> & c"}`)}
	})
	b.work(t, joined(t, address, "one"), "one")
	s := caller(t, joined(t, address, "gateway"), "main")
	local, err := b.host(t).OpenSession("main", session.CLI)
	if err != nil {
		t.Fatal(err)
	}
	long := `{"text":"` + strings.Repeat("x", 3<<20) + `"}`
	for _, arguments := range []string{`{"text":"hello"}`, long, `{"nothing":1}`, `no JSON`,
		`{"text":"\u00e9\ud83d\ude00"}`} {
		for _, tool := range []string{"echo", "bench.echo", "ecco"} {
			want := local.Call(t.Context(), tool, json.RawMessage(arguments), nil)
			got := s.Call(t.Context(), tool, json.RawMessage(arguments), nil)
			want.Duration, got.Duration = 0, 0
			if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(session.Result{})); diff != "" {
				t.Errorf("%s %.60s: %.600s", tool, arguments, diff)
			}
		}
	}
	if got := s.Instructions(); got != "a bench" {
		t.Error(got)
	}

}
