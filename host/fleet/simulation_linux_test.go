package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

// simulation is many workers of a fleet in one process, each with its own connection to NATS and many agents. One host
// answers all calls at once.
type simulation struct {
	fleets []*Fleet
	cancel context.CancelFunc
	ended  sync.WaitGroup
	all    chan struct{} // closed when each agent has been taken once
	failed chan error

	mu    sync.Mutex
	taken map[string]bool
	want  int

	calls, foreign atomic.Int64 // messages to workers for their agents, and for others
	oneForeign     atomic.Pointer[string]
}

// simulated says which workers are simulated: From to To-1, each with Each agents. Those of worker n begin at n*Each.
type simulated struct {
	From, To, Each int
	Standby        bool   // two workers may have the same agents
	Home           string // of the workers' journals
	host           *session.Host
	dial           func() (net.Conn, error) // to the NATS server
}

const (
	simulatedTool   = "answer"
	simulatedAnswer = "here"
)

func simulatedAgent(n int) string { return fmt.Sprintf("a%06d", n) }

// openSimulatedHost opens a host with a tool that answers at once.
func openSimulatedHost(home string) (*session.Host, error) {
	cfg, err := config.Load(config.LoadOptions{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home}})
	if err != nil {
		return nil, err
	}
	own, err := session.NewBuiltinTool(simulatedTool, "Answers.",
		func(context.Context, *session.Session, struct{}) (string, error) { return simulatedAnswer, nil })
	if err != nil {
		return nil, err
	}
	return session.OpenHost(session.HostOptions{Config: cfg, PluginDir: filepath.Join(hosttest.ProgramDir(), "plugins"),
		Builtin: []session.BuiltinPlugin{{ID: "simulation", Tools: []session.BuiltinTool{own}}}})
}

func startSimulation(o simulated) (_ *simulation, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &simulation{cancel: cancel, all: make(chan struct{}), taken: map[string]bool{}, want: (o.To - o.From) * o.Each,
		failed: make(chan error, o.To-o.From)}
	for n := o.From; n < o.To; n++ {
		if err := s.startWorker(ctx, o, n); err != nil {
			return nil, errors.Join(err, s.stop())
		}
	}
	return s, nil
}

func (s *simulation) startWorker(ctx context.Context, o simulated, n int) error {
	name := fmt.Sprintf("w%04d", n)
	agents, own := []string{}, map[string]bool{}
	add := func(worker int) {
		for i := range o.Each {
			agents = append(agents, simulatedAgent(worker*o.Each+i))
			own[agents[len(agents)-1]] = true
		}
	}
	add(n)
	if o.Standby {
		add(n ^ 1)
	}
	f, err := joinCounted(ctx, name, o.dial, func(subject string) { s.count(name, own, subject) })
	if err != nil {
		return err
	}
	s.fleets = append(s.fleets, f)
	w, err := NewWorker(f, WorkerOptions{Name: name, Agents: agents, Home: filepath.Join(o.Home, name),
		Host: oneForAll{o.host}, Describe: func(*session.Session) string { return "one of many" }, Version: "test"})
	if err != nil {
		return err
	}
	s.ended.Go(func() {
		if err := w.Run(ctx, s.take); err != nil {
			s.failed <- fmt.Errorf("worker %s: %w", name, err)
		}
	})
	return nil
}

// joinCounted joins a fleet. count, which may be nil, gets the subject of each message from the server.
func joinCounted(ctx context.Context, name string, dial func() (net.Conn, error), count func(string)) (*Fleet, error) {
	conn, err := nats.Connect("", append(identity.Options(), nats.Name(name), nats.CustomInboxPrefix(subject.Inbox(name)),
		nats.InProcessServer(countingDialer{dial, count}))...)
	if err != nil {
		return nil, err
	}
	f, err := Join(ctx, conn, "default")
	if err != nil {
		conn.Close()
	}
	return f, err
}

// take counts an agent once, though its worker may lose it to another for a moment.
func (s *simulation) take(agent string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.taken[agent] {
		return
	}
	s.taken[agent] = true
	if len(s.taken) == s.want {
		close(s.all)
	}
}

// wait returns when each agent has been taken.
func (s *simulation) wait(ctx context.Context) error {
	select {
	case <-s.all:
		return nil
	case err := <-s.failed:
		return err
	case <-ctx.Done():
		s.mu.Lock()
		defer s.mu.Unlock()
		return fmt.Errorf("%d of %d agents have been taken: %w", len(s.taken), s.want, ctx.Err())
	}
}

// count counts a message to a worker unless it is an answer to the worker's own request.
func (s *simulation) count(worker string, own map[string]bool, subject string) {
	words := strings.Split(subject, ".")
	switch {
	case len(words) == 5 && words[0] == "pc" && words[1] == "default" && words[2] == "ws" && own[words[3]]:
		s.calls.Add(1)
	case words[0] == "_INBOX_"+worker:
	default:
		s.foreign.Add(1)
		s.oneForeign.Store(&subject)
	}
}

func (s *simulation) stop() error {
	s.cancel()
	s.ended.Wait()
	for _, f := range s.fleets {
		f.Close()
	}
	close(s.failed)
	var all error
	for err := range s.failed {
		all = errors.Join(all, err)
	}
	return all
}

// countingDialer makes connections whose messages are counted.
type countingDialer struct {
	dial  func() (net.Conn, error)
	count func(subject string)
}

// InProcessConn is what the NATS client calls in place of dialing an address.
func (d countingDialer) InProcessConn() (net.Conn, error) {
	conn, err := d.dial()
	if err != nil || d.count == nil {
		return conn, err
	}
	return &countingConn{Conn: conn, count: d.count}, nil
}

// countingConn reads the subjects of messages as the server sends them, before the client dispatches them.
type countingConn struct {
	net.Conn
	count func(subject string)
	line  []byte // the part of a line that has come
	skip  int    // bytes of a message's body that are still to come
}

func (c *countingConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.parse(p[:n])
	return n, err
}

func (c *countingConn) parse(data []byte) {
	for len(data) > 0 {
		if c.skip > 0 {
			n := min(c.skip, len(data))
			data, c.skip = data[n:], c.skip-n
			continue
		}
		head, rest, whole := bytes.Cut(data, []byte("\n"))
		c.line, data = append(c.line, head...), rest
		if !whole {
			return
		}
		words := strings.Fields(string(c.line))
		c.line = c.line[:0]
		if len(words) >= 4 && (words[0] == "MSG" || words[0] == "HMSG") {
			c.count(words[1])
			size, _ := strconv.Atoi(words[len(words)-1]) // NATS has written a number
			c.skip = size + len("\r\n")
		}
	}
}

func TestWorkerGetsMessagesOfItsAgentsOnly(t *testing.T) {
	const workers, each = 20, 100
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true,
		StoreDir: hosttest.TempDir(t), NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(10 * time.Second) {
		t.Fatal("the NATS server does not come up")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	gateway, err := joinCounted(ctx, "gateway", s.InProcessConn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Close)
	client, err := NewClient(gateway)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)

	h, err := openSimulatedHost(hosttest.TempDir(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	c, err := startSimulation(simulated{To: workers, Each: each, Standby: true, Home: hosttest.TempDir(t), host: h,
		dial: s.InProcessConn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
	if err := c.wait(ctx); err != nil {
		t.Fatal(err)
	}
	// A worker that is not sure of its agents for a moment may lose them to the other one in between.
	hosttest.WaitUntil(t, "each agent is where the status has it", func() bool {
		_, placed, err := gateway.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]string{}
		for _, p := range placed {
			at[p.Agent] = p.Worker
		}
		for n := range workers * each {
			p, err := client.place(ctx, simulatedAgent(n))
			if err != nil || at[simulatedAgent(n)] != p.Worker {
				t.Logf("%s is with %q, not %q: %v", simulatedAgent(n), p.Worker, at[simulatedAgent(n)], err)
				return false
			}
		}
		return len(at) == workers*each
	})
	for n := 0; n < workers*each; n += 17 {
		session, err := client.Session(ctx, simulatedAgent(n), session.MCP)
		if err != nil {
			t.Fatal(err)
		}
		if r := session.Call(ctx, simulatedTool, json.RawMessage(`{}`), nil); r.Err != nil || r.Text != simulatedAnswer {
			t.Fatalf("%s: %+v", simulatedAgent(n), r)
		}
	}
	if n := c.foreign.Load(); n != 0 {
		t.Errorf("workers got %d messages for others' agents, such as %s", n, *c.oneForeign.Load())
	}
	if n := c.calls.Load(); n < workers*each/17 {
		t.Errorf("workers got %d calls", n)
	}
}

func TestCountingConnCountsEachMessage(t *testing.T) {
	said := "INFO {}\r\nMSG a.b 1 5\r\nMSG x\r\nPING\r\n" +
		"HMSG c.d 2 re.ply 4 8\r\nab\r\n\r\ncd\r\n+OK\r\nMSG e 3 0\r\n\r\nMSG f 4 1\r\nz\r\n"
	for _, size := range []int{1, 2, 3, 7, len(said)} {
		var heard []string
		w := &countingConn{count: func(subject string) { heard = append(heard, subject) }}
		for rest := said; rest != ""; {
			n := min(size, len(rest))
			w.parse([]byte(rest[:n]))
			rest = rest[n:]
		}
		if got, _ := json.Marshal(heard); string(got) != `["a.b","c.d","e","f"]` {
			t.Errorf("in pieces of %d: %s", size, got)
		}
	}
}
