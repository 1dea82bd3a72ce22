package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/fleet/hub"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/session"
)

// joining gives a machine of a fleet its own connection.
type joining func(ctx context.Context, role string, agents ...string) (*fleet.Fleet, error)

// measureFleet compares calls through gateway, NATS and worker, all on this machine and each with a connection of its
// own, with the same calls here. The two take turns, so that both meet the same weather.
func measureFleet(bin string) error {
	if err := withHome(func(home string) error {
		nats, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: -1, JetStream: true, NoSigs: true,
			StoreDir: filepath.Join(home, "nats")})
		if err != nil {
			return err
		}
		nats.Start()
		defer func() { nats.Shutdown(); nats.WaitForShutdown() }()
		if !nats.ReadyForConnections(10 * time.Second) {
			return errors.New("the NATS server does not come up")
		}
		return compareFleet(bin, home, "through NATS",
			func(ctx context.Context, role string, _ ...string) (*fleet.Fleet, error) {
				conn, err := identity.Dial(nats.ClientURL(), role, "")
				if err != nil {
					return nil, err
				}
				return fleet.Join(ctx, conn, "default")
			})
	}); err != nil {
		return err
	}
	return withHome(func(home string) (err error) {
		h, err := hub.Open(filepath.Join(home, "hub"))
		if err != nil {
			return err
		}
		if err := h.Listen("127.0.0.1:0", nil); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(context.Background())
		ready, served := make(chan string, 1), make(chan error, 1)
		go func() { served <- h.Serve(ctx, hclog.NewNullLogger(), func(at string) { ready <- at }) }()
		select {
		case <-ready:
			defer func() { cancel(); err = errors.Join(err, <-served) }()
		case err := <-served:
			cancel()
			return err
		}
		return compareFleet(bin, home, "through a hub",
			func(ctx context.Context, role string, agents ...string) (*fleet.Fleet, error) {
				id, err := h.Add(ctx, "main", hub.Identity{Name: role, Role: role, Agents: agents})
				if err != nil {
					return nil, err
				}
				conn, err := id.Connect()
				if err != nil {
					return nil, err
				}
				return fleet.Join(ctx, conn, id.Tenant)
			})
	})
}

// compareFleet compares a call that reads and one that writes, and looks up an agent as a gateway that does not know
// it.
func compareFleet(bin, home, way string, join joining) error {
	h, local, err := newHost(bin, home, true)
	if err != nil {
		return err
	}
	defer func() { _ = h.Close(context.Background()) }()
	content := strings.Repeat("0123456789abcde\n", 64)
	if err := os.WriteFile(filepath.Join(local.Policy().Workspace(), "1k"), []byte(content), 0o600); err != nil {
		return err
	}
	far, end, err := onFleet(h, home, join)
	if err != nil {
		return err
	}
	defer end()
	client, err := fleet.NewClient(far)
	if err != nil {
		return err
	}
	defer client.Close()
	remote, err := client.Session(context.Background(), "main", session.CLI)
	if err != nil {
		return err
	}
	write, err := json.Marshal(map[string]string{"path": "1k", "content": content})
	if err != nil {
		return err
	}
	for _, c := range []struct{ name, tool, args string }{
		{"read 1 KB", "read_file", `{"path":"1k"}`}, {"write 1 KB", "write_file", string(write)},
	} {
		if err := compareFleetCalls(c.name+" "+way, local, remote, c.tool, c.args); err != nil {
			return err
		}
	}
	var looked sample
	for range 3000 {
		fresh, err := fleet.NewClient(far)
		if err == nil {
			err = looked.timed(func() error { _, err := fresh.Where(context.Background(), "main"); return err })
			fresh.Close()
		}
		if err != nil {
			return err
		}
	}
	fmt.Println("where an agent is", way)
	fmt.Println("  looked up  ", looked)
	return nil
}

func compareFleetCalls(name string, local *session.Session, remote *fleet.Session, tool, args string) error {
	const rounds, warmup = 3000, 300
	var here, there sample
	for i := range rounds + warmup {
		if err := here.timed(func() error { return call(local, tool, args) }); err != nil {
			return err
		}
		if err := there.timed(func() error {
			r := remote.Call(context.Background(), tool, json.RawMessage(args), nil)
			if r.Err != nil {
				return r.Err
			}
			return nil
		}); err != nil {
			return err
		}
		if i == warmup-1 {
			here, there = nil, nil
		}
	}
	fmt.Println(name)
	fmt.Println("  here       ", here)
	fmt.Println("  on a fleet ", there)
	fmt.Printf("  the fleet costs %+.3f ms (at most +0.5)\n", ms(there.p50()-here.p50()))
	return nil
}

// onFleet has a worker serve a host, and returns a gateway's connection.
func onFleet(h *session.Host, home string, join joining) (far *fleet.Fleet, end func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	near, err := join(ctx, identity.Worker, "main")
	if err != nil {
		cancel()
		return nil, nil, err
	}
	w, err := fleet.NewWorker(near, fleet.WorkerOptions{Name: "worker", Agents: []string{"main"}, Home: home, Host: h,
		Describe: func(*session.Session) string { return "" }})
	if err != nil {
		cancel()
		return nil, nil, err
	}
	ended, taken := make(chan error, 1), make(chan string, 1)
	go func() { ended <- w.Run(ctx, func(agent string) { taken <- agent }) }()
	stop := func() { cancel(); <-ended; near.Close() }
	select {
	case <-taken:
	case err := <-ended:
		cancel()
		return nil, nil, err
	}
	if far, err = join(ctx, identity.Gateway); err != nil {
		stop()
		return nil, nil, err
	}
	return far, func() { far.Close(); stop() }, nil
}
