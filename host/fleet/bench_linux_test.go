package fleet

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet/hub"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/measure"
)

// BenchmarkFleet makes calls through gateway, NATS and worker, each with its own connection on this machine, and the
// same calls of the worker's host. A lookup is that of a gateway that does not know the agent yet.
func BenchmarkFleet(b *testing.B) {
	b.Run("nats", func(b *testing.B) {
		address := startNATS(b)
		compareFleet(b, func(role string, _ ...string) *Fleet { return joined(b, address, role) })
	})
	b.Run("hub", func(b *testing.B) {
		h := startHub(b)
		compareFleet(b, func(role string, agents ...string) *Fleet {
			return joinHub(b, h, hub.Identity{Name: role, Role: role, Agents: agents})
		})
	})
}

// anySession is a session here, or on a fleet.
type anySession interface {
	Call(ctx context.Context, tool string, args json.RawMessage, events func(session.CallEvent)) *session.Result
}

func compareFleet(b *testing.B, join func(role string, agents ...string) *Fleet) {
	home := hosttest.TempDir(b)
	cfg, err := config.Load(config.LoadOptions{Environ: []string{"HOME=" + home, "PICOCLAW_HOME=" + home,
		"PICOCLAW_ISOLATION_ENABLED=true"}})
	if err != nil {
		b.Fatal(err)
	}
	h, err := session.OpenHost(session.HostOptions{Config: cfg, PluginDir: filepath.Join(hosttest.ProgramDir(), "plugins")})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close(context.Background()) })
	local, err := h.OpenSession("", session.CLI)
	if err != nil {
		b.Fatal(err)
	}
	content := strings.Repeat("0123456789abcde\n", 64)
	if err := os.WriteFile(filepath.Join(local.Policy().WorkspacePath(), "1k"), []byte(content), 0o600); err != nil {
		b.Fatal(err)
	}
	runWorker(b, join(identity.Worker, "main"),
		WorkerOptions{Name: "worker", Agents: []string{"main"}, Home: home, Host: h})
	gateway := join(identity.Gateway)
	remote := caller(b, gateway, "main")
	write, err := json.Marshal(map[string]string{"path": "1k", "content": content})
	if err != nil {
		b.Fatal(err)
	}
	call := func(s anySession, tool, args string) func() error {
		return func() error {
			if r := s.Call(b.Context(), tool, json.RawMessage(args), nil); r.Err != nil {
				return r.Err
			}
			return nil
		}
	}
	var client *Client
	t := measure.RunInTurns(b,
		measure.BenchCase{Name: "read_here", Run: call(local, "read_file", `{"path":"1k"}`)},
		measure.BenchCase{Name: "read_fleet", Run: call(remote, "read_file", `{"path":"1k"}`)},
		measure.BenchCase{Name: "write_here", Run: call(local, "write_file", string(write))},
		measure.BenchCase{Name: "write_fleet", Run: call(remote, "write_file", string(write))},
		measure.BenchCase{Name: "lookup",
			Prepare: func() (err error) {
				if client != nil {
					client.Close()
				}
				client, err = NewClient(gateway)
				return err
			},
			Run: func() error { _, err := client.place(b.Context(), "main"); return err }})
	client.Close()
	b.ReportMetric(t[1].Median()-t[0].Median(), "read_cost-ms<=0.5")
	b.ReportMetric(t[3].Median()-t[2].Median(), "write_cost-ms<=0.5")
}
