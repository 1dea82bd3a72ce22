package fleet

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

// machine is a worker's machine whose agent's workspace can be moved.
type machine struct {
	*bench
	name, workspace string
	fleet           *Fleet
}

func newMachine(t *testing.T, address, name string) *machine {
	t.Helper()
	b := &bench{home: hosttest.TempDir(t)}
	b.tool(t, "echo", func(_ context.Context, text string, _ func(session.CallEvent)) *session.Result {
		return &session.Result{Text: name + " says " + text, Answered: true}
	})
	m := &machine{bench: b, name: name, workspace: filepath.Join(hosttest.TempDir(t), "ws"),
		fleet: joined(t, address, name)}
	if err := os.Mkdir(m.workspace, 0o700); err != nil {
		t.Fatal(err)
	}
	return m
}

// worker makes the machine's worker.
func (m *machine) worker(t *testing.T) *Worker {
	t.Helper()
	w, err := NewWorker(m.fleet, WorkerOptions{Name: m.name, Agents: []string{"main"}, Home: m.home, Host: m.host(t),
		Describe: func(*session.Session) string { return "" }, Drain: time.Second,
		Workspace: func(string) (string, error) { return m.workspace, nil }})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// runs has a worker run until stop, or the test's end.
func runs(t *testing.T, w *Worker) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx, nil) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// has waits until a worker has the agent, and serves it.
func has(t *testing.T, f *Fleet, worker string) *place {
	t.Helper()
	var p *place
	hosttest.WaitUntil(t, worker+" has the agent", func() bool {
		var err error
		p, err = f.where(t.Context(), "main")
		return err == nil && p.Worker == worker && p.Sent == nil && p.Instance != ""
	})
	return p
}

// there waits for so many workers.
func there(t *testing.T, f *Fleet, n int) {
	t.Helper()
	hosttest.WaitUntil(t, "the workers are there", func() bool {
		workers, _, err := f.Status(t.Context())
		return err == nil && len(workers) == n
	})
}

func (m *machine) write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(m.workspace, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// files are the names in the workspace.
func (m *machine) files(t *testing.T) string {
	t.Helper()
	all, err := os.ReadDir(m.workspace)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, one := range all {
		names = append(names, one.Name())
	}
	return strings.Join(names, " ")
}

func TestAWorkspaceMovesAndComesBack(t *testing.T) {
	address := startNATS(t)
	one, two, admin := newMachine(t, address, "one"), newMachine(t, address, "two"), joined(t, address, "admin")
	one.write(t, "a", "text")
	runs(t, one.worker(t))
	has(t, admin, "one")
	runs(t, two.worker(t))
	there(t, admin, 2)
	s := caller(t, joined(t, address, "gateway"), "main")
	move := func(to string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		return admin.Move(ctx, "main", to, func(string) {})
	}
	if err := move("nobody"); err == nil {
		t.Error("it is moved to nobody")
	}
	if err := move("one"); err == nil {
		t.Error("it is moved to where it is")
	}
	two.write(t, "there", "already")
	if err := move("two"); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Error(err)
	}
	if err := os.Remove(filepath.Join(two.workspace, "there")); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := move("two"); err != nil {
			t.Fatal(err)
		}
		has(t, admin, "two")
		hosttest.WaitUntil(t, "the copy is gone", func() bool { return one.gone(t) })
		if r := s.Call(t.Context(), "echo", args("hello"), nil); r.Text != "two says hello" || two.files(t) != "a" {
			t.Errorf("%+v %q", r, two.files(t))
		}
		if err := move("one"); err != nil {
			t.Fatal(err)
		}
		hosttest.WaitUntil(t, "the copy is gone", func() bool { return two.gone(t) })
	}

	// What can't be moved stays, and is served.
	if err := os.Mkdir(filepath.Join(one.workspace, "d"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(filepath.Join(one.workspace, "d", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := move("two"); err == nil || !strings.Contains(err.Error(), "d/pipe") {
		t.Error(err)
	}
	has(t, admin, "one")
	if r := s.Call(t.Context(), "echo", args("hello"), nil); r.Text != "one says hello" || two.files(t) != "" {
		t.Errorf("%+v %q", r, two.files(t))
	}
}

func TestADrainedWorkerGivesItsAgentsAway(t *testing.T) {
	address := startNATS(t)
	one, two, admin := newMachine(t, address, "one"), newMachine(t, address, "two"), joined(t, address, "admin")
	began, end := make(chan struct{}), make(chan struct{})
	one.tool(t, "wait", func(context.Context, string, func(session.CallEvent)) *session.Result {
		close(began)
		<-end
		return &session.Result{Text: "done", Answered: true}
	})
	stop := runs(t, one.worker(t))
	has(t, admin, "one")
	runs(t, two.worker(t))
	there(t, admin, 2)
	s := caller(t, joined(t, address, "gateway"), "main")
	answers := make(chan *session.Result, 1)
	go func() { answers <- s.Call(context.Background(), "wait", args(""), nil) }()
	<-began
	close(end)
	if err := admin.Drain(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if r := <-answers; r.Text != "done" {
		t.Errorf("what runs: %+v", r)
	}
	has(t, admin, "two")
	if r := s.Call(t.Context(), "echo", args("x"), nil); r.Text != "two says x" {
		t.Errorf("%+v", r)
	}
	workers, _, err := admin.Status(t.Context())
	if err != nil || len(workers) != 2 || !workers[0].Drained {
		t.Errorf("%+v %v", workers, err)
	}
	stop()
	if err := admin.Drain(t.Context(), "one"); err == nil {
		t.Error("who is not there is drained")
	}
}

// A target without room for it gives the agent back, and nothing of it stays.
func TestAWorkspaceThatDoesNotFitStaysWhereItIs(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can mount a disk that is small enough to fill")
	}
	address := startNATS(t)
	one, two, admin := newMachine(t, address, "one"), newMachine(t, address, "two"), joined(t, address, "admin")
	if err := unix.Mount("tmpfs", two.workspace, "tmpfs", 0, "size=256k"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(two.workspace, unix.MNT_DETACH) })
	one.write(t, "a", "small")
	one.write(t, "b", strings.Repeat("large", 200_000))
	runs(t, one.worker(t))
	has(t, admin, "one")
	runs(t, two.worker(t))
	there(t, admin, 2)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if err := admin.Move(ctx, "main", "two", func(string) {}); err == nil || !strings.Contains(err.Error(), "no space") {
		t.Error(err)
	}
	has(t, admin, "one")
	s := caller(t, joined(t, address, "gateway"), "main")
	if r := s.Call(t.Context(), "echo", args("x"), nil); r.Text != "one says x" || one.files(t) != "a b" ||
		two.files(t) != "" {
		t.Errorf("%+v %q %q", r, one.files(t), two.files(t))
	}
}

// writeMove has on a machine's disk what its worker has written down.
func writeMove(t *testing.T, on *machine, m *move) {
	t.Helper()
	w := &Worker{options: WorkerOptions{Home: on.home}, moves: map[string]*move{}}
	if err := w.note(m.Agent, m); err != nil {
		t.Fatal(err)
	}
}

// A call that comes while the workspace is on its way waits for whoever will have it: what is sent before that nobody
// answers, and nobody could say later what became of it.
func TestACallWaitsForAWorkspaceThatIsOnItsWay(t *testing.T) {
	address := startNATS(t)
	one, two, admin := newMachine(t, address, "one"), newMachine(t, address, "two"), joined(t, address, "admin")
	stop := runs(t, one.worker(t))
	has(t, admin, "one")
	s := caller(t, joined(t, address, "gateway"), "main")
	stop()
	if err := two.fleet.inbox(t.Context(), "two"); err != nil {
		t.Fatal(err)
	}
	digest, err := (&Worker{fleet: one.fleet}).upload(t.Context(), one.workspace, "pc_in_two", "main", "object")
	if err != nil {
		t.Fatal(err)
	}
	m := &move{Agent: "main", Peer: "one", Key: "k", State: expected, Digest: digest}
	writeMove(t, two, m)
	data, _ := json.Marshal(place{envelope: sealed(), Worker: "two",
		Sent: &sent{From: "one", Object: "object", Digest: digest, Proof: m.proof(proofSent)}})
	if _, err := admin.placement.Put(t.Context(), "main", data); err != nil {
		t.Fatal(err)
	}
	listen := func(of string) *nats.Subscription { // as a worker that has given the agent away: it says nothing
		sub, err := admin.conn.SubscribeSync(of)
		if err == nil {
			err = admin.conn.Flush()
		}
		if err != nil {
			t.Fatal(err)
		}
		return sub
	}
	calls, lookups := listen(admin.to("main", subject.Call)), listen("$JS.API.DIRECT.GET.>")
	s.client.forget("main") // as it does when an agent's worker says that it is another's
	result := make(chan *session.Result, 1)
	go func() { result <- s.Call(t.Context(), "echo", []byte(`{"text":"x"}`), nil) }()
	for range 3 {
		if _, err := lookups.NextMsgWithContext(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if n, _, _ := calls.Pending(); n > 0 {
		t.Errorf("%d messages were sent to nobody", n)
	}
	runs(t, two.worker(t))
	if r := <-result; r.Text != "two says x" {
		t.Errorf("%+v", r)
	}
}
