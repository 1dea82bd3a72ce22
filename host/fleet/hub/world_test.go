package hub_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/hub"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
)

// serve serves a hub in a directory until the test, or the function that is returned, ends it.
func serve(t *testing.T, h *hub.Hub) (end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() {
		done <- h.Serve(ctx, hclog.New(&hclog.LoggerOptions{Output: t.Output(), Level: hclog.Warn}),
			func(string) { close(ready) })
	}()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal("the hub: ", err)
	}
	ended := false
	end = func() {
		if ended {
			return
		}
		ended = true
		cancel()
		if err := <-done; err != nil {
			t.Error("the hub: ", err)
		}
	}
	t.Cleanup(end)
	return end
}

// newHub makes a hub that listens at any port of this machine.
func newHub(t *testing.T) *hub.Hub {
	t.Helper()
	h, err := hub.Open(filepath.Join(t.TempDir(), "hub"))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Listen("127.0.0.1:0", nil); err != nil {
		t.Fatal(err)
	}
	return h
}

// add lets in a machine and returns the file that it gets.
func add(t *testing.T, h *hub.Hub, tenant, role, name string, agents ...string) string {
	t.Helper()
	id, err := h.Add(t.Context(), tenant, hub.Identity{Name: name, Role: role, Agents: agents})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name+".fleet")
	created, err := identity.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := id.Keep(created); err != nil {
		t.Fatal(err)
	}
	return file
}

func connect(t *testing.T, file string, options ...nats.Option) *nats.Conn {
	t.Helper()
	conn, _, err := identity.Connect(file, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	return conn
}

const patience = 20 * time.Second // for what has to happen
