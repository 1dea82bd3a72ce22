package crowd

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
)

func TestMain(m *testing.M) {
	const one = "plugins/filesystem/filesystem" // a host has one at least
	os.Exit(hosttest.Main(m, map[string]string{one: "../../../plugins/filesystem"}, func(dir string) error {
		out, err := exec.Command(filepath.Join(dir, one), "describe").Output()
		if err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, filepath.Dir(one), "plugin.json"), out, 0o644)
	}))
}

// answering is a host with one tool, which answers at once.
func answering(t *testing.T) *session.Host {
	t.Helper()
	h, err := Answering(hosttest.TempDir(t), filepath.Join(hosttest.Dir(), "plugins"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

func TestAWorkerHearsOfItsOwnAgentsOnly(t *testing.T) {
	const workers, each = 20, 100
	s, err := server.NewServer(&server.Options{DontListen: true, JetStream: true, StoreDir: hosttest.TempDir(t), NoSigs: true})
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
	gateway, err := Join(ctx, "gateway", s.InProcessConn, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Close)
	client, err := fleet.NewClient(gateway)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)

	c, err := Start(Options{To: workers, Each: each, Standby: true, Home: hosttest.TempDir(t), Host: answering(t),
		Dial: s.InProcessConn})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	if err := c.Wait(ctx); err != nil {
		t.Fatal(err)
	}
	// A worker that is not sure of its agents for a moment may lose them to the other one in between.
	hosttest.Eventually(t, "each agent is where the status has it", func() bool {
		_, placed, err := gateway.Status(ctx)
		if err != nil {
			t.Fatal(err)
		}
		at := map[string]string{}
		for _, p := range placed {
			at[p.Agent] = p.Worker
		}
		for n := range workers * each {
			worker, err := client.Where(ctx, Agent(n))
			if err != nil || at[Agent(n)] != worker {
				t.Logf("%s is with %q, not %q: %v", Agent(n), worker, at[Agent(n)], err)
				return false
			}
		}
		return len(at) == workers*each
	})
	for n := 0; n < workers*each; n += 17 {
		sess, err := client.Session(ctx, Agent(n), session.MCP)
		if err != nil {
			t.Fatal(err)
		}
		if r := sess.Call(ctx, Tool, json.RawMessage(`{}`), nil); r.Err != nil || r.Text != Answer {
			t.Fatalf("%s: %+v", Agent(n), r)
		}
	}
	calls, foreign, one := c.Heard()
	if foreign != 0 {
		t.Errorf("%d messages came to workers that were not for their agents, such as %s", foreign, one)
	}
	if calls < workers*each/17 {
		t.Errorf("the workers heard %d calls", calls)
	}
}

func TestEachMessageOnAWireIsHeard(t *testing.T) {
	said := "INFO {}\r\nMSG a.b 1 5\r\nMSG x\r\nPING\r\nHMSG c.d 2 re.ply 4 8\r\nab\r\n\r\ncd\r\n+OK\r\nMSG e 3 0\r\n\r\nMSG f 4 1\r\nz\r\n"
	for _, size := range []int{1, 2, 3, 7, len(said)} {
		var heard []string
		w := &wire{hear: func(subject string) { heard = append(heard, subject) }}
		for rest := said; rest != ""; {
			n := min(size, len(rest))
			w.listen([]byte(rest[:n]))
			rest = rest[n:]
		}
		if got, _ := json.Marshal(heard); string(got) != `["a.b","c.d","e","f"]` {
			t.Errorf("in pieces of %d: %s", size, got)
		}
	}
}
