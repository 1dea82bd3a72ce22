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

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
)

// measureFleet compares a call through gateway, NATS and worker, all on this machine and each with a connection of its
// own, with the same call here. The two take turns, so that both meet the same weather.
func measureFleet(bin string) error {
	const rounds, warmup = 3000, 300
	return withHome(func(home string) error {
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
		h, local, err := newHost(bin, home, true)
		if err != nil {
			return err
		}
		defer func() { _ = h.Close(context.Background()) }()
		if err := os.WriteFile(filepath.Join(local.Policy().Workspace(), "1k"),
			[]byte(strings.Repeat("0123456789abcde\n", 64)), 0o600); err != nil {
			return err
		}
		remote, end, err := onFleet(h, home, nats.ClientURL())
		if err != nil {
			return err
		}
		defer end()
		var here, there sample
		for i := range rounds + warmup {
			if err := here.timed(func() error { return call(local, "read_file", `{"path":"1k"}`) }); err != nil {
				return err
			}
			if err := there.timed(func() error {
				r := remote.Call(context.Background(), "read_file", json.RawMessage(`{"path":"1k"}`), nil)
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
		fmt.Println("read 1 KB")
		fmt.Println("  here       ", here)
		fmt.Println("  on a fleet ", there)
		fmt.Printf("  the fleet costs %+.3f ms (at most +0.5), with a line on disk before the call\n",
			ms(there.p50()-here.p50()))
		return nil
	})
}

// onFleet has a worker serve a host, and returns a session of a gateway's.
func onFleet(h *host.Host, home, address string) (s *fleet.Session, end func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	join := func(name string) (*fleet.Fleet, error) {
		conn, err := identity.Dial(address, name, "")
		if err != nil {
			return nil, err
		}
		return fleet.Join(ctx, conn, "default")
	}
	near, err := join("worker")
	if err != nil {
		cancel()
		return nil, nil, err
	}
	w, err := fleet.NewWorker(near, fleet.WorkerOptions{Name: "worker", Agents: []string{"main"}, Home: home, Host: h,
		Describe: func(*host.Session) string { return "" }})
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
	far, err := join("gateway")
	if err != nil {
		stop()
		return nil, nil, err
	}
	client, err := fleet.NewClient(far)
	if err == nil {
		s, err = client.Session(ctx, "main", host.CLI)
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return s, func() { client.Close(); far.Close(); stop() }, nil
}
