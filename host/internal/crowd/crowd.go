// Package crowd plays many workers of a fleet in one process, each with its own connection to NATS and many agents, and
// listens to what the server sends to each of them.
//
// It is for tests and benchmarks: what is called is answered at once by one host, and there are no workspaces. It must
// not know how calls are carried, nor where the server is.
package crowd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/session"
)

// Tenant is whose the crowd's agents are.
const Tenant = "default"

// Agent is the name of an agent.
func Agent(n int) string { return fmt.Sprintf("a%06d", n) }

// Options are who is played.
type Options struct {
	From, To int    // the numbers of the workers, of which the last one is not played
	Each     int    // how many agents a worker has: those of worker n begin at n*Each
	Standby  bool   // every second worker may take the agents of the one before it, and the other way round
	Home     string // where the workers' journals are
	Host     *session.Host
	Dial     func() (net.Conn, error) // to the NATS server
}

// Crowd is workers that run.
type Crowd struct {
	fleets []*fleet.Fleet
	cancel context.CancelFunc
	ended  sync.WaitGroup
	all    chan struct{} // closed when each agent has been taken once
	failed chan error

	mu    sync.Mutex
	taken map[string]bool
	want  int

	calls, foreign atomic.Int64
	mistaken       atomic.Pointer[string]
}

// Start has the workers run.
func Start(o Options) (_ *Crowd, err error) {
	ctx, cancel := context.WithCancel(context.Background())
	c := &Crowd{cancel: cancel, all: make(chan struct{}), taken: map[string]bool{}, want: (o.To - o.From) * o.Each,
		failed: make(chan error, o.To-o.From)}
	defer func() {
		if err != nil {
			_ = c.Stop()
		}
	}()
	for n := o.From; n < o.To; n++ {
		if err := c.start(ctx, o, n); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *Crowd) start(ctx context.Context, o Options, n int) error {
	name := fmt.Sprintf("w%04d", n)
	agents, own := []string{}, map[string]bool{}
	add := func(worker int) {
		for i := range o.Each {
			agents = append(agents, Agent(worker*o.Each+i))
			own[agents[len(agents)-1]] = true
		}
	}
	add(n)
	if o.Standby {
		add(n ^ 1)
	}
	f, err := Join(ctx, name, o.Dial, func(subject string) { c.hear(name, own, subject) })
	if err != nil {
		return err
	}
	c.fleets = append(c.fleets, f)
	w, err := fleet.NewWorker(f, fleet.WorkerOptions{Name: name, Agents: agents, Home: filepath.Join(o.Home, name),
		Host: standIn{o.Host}, Describe: func(*session.Session) string { return "one of many" }, Version: "test"})
	if err != nil {
		return err
	}
	c.ended.Go(func() {
		if err := w.Run(ctx, c.took); err != nil {
			c.failed <- fmt.Errorf("worker %s: %w", name, err)
		}
	})
	return nil
}

// Join is a connection to the fleet. hear is told the subject of each message that comes over it; nil for nobody.
func Join(ctx context.Context, name string, dial func() (net.Conn, error), hear func(string)) (*fleet.Fleet, error) {
	conn, err := nats.Connect("", append(identity.Options(), nats.Name(name), nats.CustomInboxPrefix(subject.Inbox(name)),
		nats.InProcessServer(dialer{dial, hear}))...)
	if err != nil {
		return nil, err
	}
	f, err := fleet.Join(ctx, conn, Tenant)
	if err != nil {
		conn.Close()
	}
	return f, err
}

func (c *Crowd) took(agent string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.taken[agent] {
		return // again, by a worker that was not sure of it for a while, or by the other one
	}
	c.taken[agent] = true
	if len(c.taken) == c.want {
		close(c.all)
	}
}

// Taken is how many agents have been taken.
func (c *Crowd) Taken() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.taken)
}

// Wait returns when each agent has been taken.
func (c *Crowd) Wait(ctx context.Context) error {
	select {
	case <-c.all:
		return nil
	case err := <-c.failed:
		return err
	case <-ctx.Done():
		return fmt.Errorf("%d of %d agents have been taken: %w", c.Taken(), c.want, ctx.Err())
	}
}

// hear counts a message to a worker: one for its agents, an answer to what it has asked, or somebody else's.
func (c *Crowd) hear(worker string, own map[string]bool, subject string) {
	words := strings.Split(subject, ".")
	switch {
	case len(words) == 5 && words[0] == "pc" && words[1] == Tenant && words[2] == "ws" && own[words[3]]:
		c.calls.Add(1)
	case words[0] == "_INBOX_"+worker:
	default:
		c.foreign.Add(1)
		c.mistaken.Store(&subject)
	}
}

// Heard is how many messages have come to workers for their agents, and how many that were neither for those nor
// answers to their own questions, with the subject of one of them.
func (c *Crowd) Heard() (calls, foreign int64, one string) {
	if s := c.mistaken.Load(); s != nil {
		one = *s
	}
	return c.calls.Load(), c.foreign.Load(), one
}

// Stop has the workers leave.
func (c *Crowd) Stop() error {
	c.cancel()
	c.ended.Wait()
	for _, f := range c.fleets {
		f.Close()
	}
	close(c.failed)
	var all error
	for err := range c.failed {
		all = errors.Join(all, err)
	}
	return all
}

// standIn has one agent's sessions for all of them.
type standIn struct{ host *session.Host }

func (s standIn) Session(_ string, o session.Origin) (*session.Session, error) {
	return s.host.Session("", o)
}
