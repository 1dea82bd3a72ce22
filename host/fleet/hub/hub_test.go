package hub_test

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/hub"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
)

func TestAHubLetsInAndTakesBackWhileItIsServedAndWhileItIsNot(t *testing.T) {
	h := newHub(t)
	end := serve(t, h)
	worker := add(t, h, "main", identity.Worker, "w1", "a")
	gateway := add(t, h, "main", identity.Gateway, "g1")
	closed := make(chan error, 1)
	conn := connect(t, worker, nats.ClosedHandler(func(c *nats.Conn) { closed <- c.LastError() }))
	other := connect(t, gateway)
	if err := conn.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Add(t.Context(), "main", hub.Identity{Name: "w1", Role: identity.Gateway}); err == nil {
		t.Error("a name is given to two")
	}
	if err := h.Revoke(t.Context(), "main", "w1"); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-closed:
		if !errors.Is(err, nats.ErrAuthorization) && !errors.Is(err, nats.ErrAuthRevoked) {
			t.Errorf("the connection of who was revoked ends with %v", err)
		}
	case <-time.After(patience):
		t.Error("the connection of who was revoked goes on")
	}
	if _, _, err := identity.Connect(worker); err == nil || !strings.Contains(err.Error(), "revoked") {
		t.Errorf("who was revoked connects: %v", err)
	}
	if err := other.FlushTimeout(patience); err != nil {
		t.Errorf("another's connection: %v", err)
	}
	again := add(t, h, "main", identity.Worker, "w1", "a")
	connect(t, again).Close()
	end()

	// What is done while it is not served holds when it is.
	if err := h.Revoke(t.Context(), "main", "w1"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Admin("main"); err == nil || !strings.Contains(err.Error(), "picoclaw hub") {
		t.Errorf("a hub that does not run: %v", err)
	}
	serve(t, h)
	late := add(t, h, "main", identity.Gateway, "g2")
	connect(t, late)
	// The port is another one now, as it was not chosen: the key alone is looked at.
	id, err := identity.Read(again)
	if err != nil {
		t.Fatal(err)
	}
	now, err := identity.Read(late)
	if err != nil {
		t.Fatal(err)
	}
	id.URLs = now.URLs
	if conn, err := id.Connect(); err == nil {
		conn.Close()
		t.Error("who was revoked while the hub was not served connects")
	}
}

func TestASecondHubInADirectoryIsRefused(t *testing.T) {
	h := newHub(t)
	serve(t, h)
	if err := h.Serve(t.Context(), nil, nil); err == nil || !strings.Contains(err.Error(), "running already") {
		t.Errorf("a second: %v", err)
	}
	if err := h.Listen("127.0.0.1:1", nil); err == nil {
		t.Error("where a running hub listens is changed")
	}
}

func TestAnIdentityIsForItsOwnerAndItsHub(t *testing.T) {
	h, stranger := newHub(t), newHub(t)
	serve(t, h)
	serve(t, stranger)
	file := add(t, h, "main", identity.Worker, "w1", "a")
	mine, err := identity.Read(file)
	if err != nil {
		t.Fatal(err)
	}
	theirs, err := identity.Read(add(t, stranger, "main", identity.Worker, "w1", "a"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(id *identity.Identity)
		want   string
	}{
		"another hub":     {func(id *identity.Identity) { id.URLs = theirs.URLs }, "is not the hub that has made this identity"},
		"another's CA":    {func(id *identity.Identity) { id.CA = theirs.CA }, "is not the hub that has made this identity"},
		"system's CAs":    {func(id *identity.Identity) { id.CA = "" }, "is not the hub that has made this identity"},
		"another's key":   {func(id *identity.Identity) { id.JWT, id.Seed = theirs.JWT, theirs.Seed }, "does not let worker w1"},
		"plain elsewhere": {func(id *identity.Identity) { id.URLs = []string{"nats://192.0.2.1:4222"} }, "tls://192.0.2.1:4222"},
		"plain by a name": {func(id *identity.Identity) { id.URLs = []string{"nats://hub.example:4222"} }, "would be encrypted"},
		"plain beside tls": {func(id *identity.Identity) { id.URLs = append(id.URLs, "nats://192.0.2.1:4222") },
			"would be encrypted"},
		"plain here, to TLS": {func(id *identity.Identity) {
			id.CA, id.URLs = "", []string{strings.Replace(id.URLs[0], "tls://", "nats://", 1)}
		}, "is not the hub that has made this identity"},
	} {
		t.Run(name, func(t *testing.T) {
			id := *mine
			id.URLs = append([]string(nil), mine.URLs...)
			c.change(&id)
			conn, err := id.Connect()
			if err == nil {
				conn.Close()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v; want %q in it", err, c.want)
			}
		})
	}
	mixed := *mine
	mixed.Seed = theirs.Seed
	bad := filepath.Join(t.TempDir(), "mixed")
	created, err := identity.Create(bad)
	if err != nil {
		t.Fatal(err)
	}
	if err := mixed.Keep(created); err != nil {
		t.Fatal(err)
	}
	if _, err := identity.Read(bad); err == nil || !strings.Contains(err.Error(), "another key") {
		t.Errorf("a seed and a JWT of two: %v", err)
	}
	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	if _, _, err := identity.Connect(file); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a file that others can read: %v", err)
	}
	if _, _, err := identity.Connect(filepath.Join(t.TempDir(), "none")); err == nil ||
		!strings.Contains(err.Error(), "picoclaw hub add") {
		t.Errorf("no file: %v", err)
	}
}

// An agent's id is part of the subjects that a key is let use.
func TestAWorkerIsForAgentsThatThereCanBe(t *testing.T) {
	h := newHub(t)
	for _, agents := range [][]string{{"*"}, {">"}, {"a b"}, {""}, {"main,reader"}, {"-x"}, {"a.b"}, {"A"}, {"a", "b", "a"},
		{strings.Repeat("a", 65)}} {
		_, err := h.Add(t.Context(), "main", hub.Identity{Name: "w1", Role: identity.Worker, Agents: agents})
		if err == nil || !strings.Contains(err.Error(), "agent") {
			t.Errorf("%q: %v", agents, err)
		}
	}
	add(t, h, "main", identity.Worker, "w1", "a", strings.Repeat("a", 64), "b-1_2")
}

// What holds the hub's keys is for its owner alone.
func TestTheHubsFilesAreItsOwners(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "hub")
	h, err := hub.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Add(t.Context(), "main", hub.Identity{Name: "w", Role: identity.Worker, Agents: []string{"a"}}); err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %o", path, info.Mode().Perm())
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestNothingRunsOnWhenTheHubHasEnded(t *testing.T) {
	h := newHub(t)
	serve(t, h)() // what is started once for a process is started
	before := runtime.NumGoroutine()
	for range 3 {
		end := serve(t, h)
		conn := connect(t, add(t, h, "main", identity.Gateway, "g"))
		if err := conn.FlushTimeout(patience); err != nil {
			t.Fatal(err)
		}
		if err := h.Revoke(t.Context(), "main", "g"); err != nil {
			t.Fatal(err)
		}
		conn.Close()
		end()
	}
	for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%d goroutines, and %d before:\n%s", runtime.NumGoroutine(), before, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
