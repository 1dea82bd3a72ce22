package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// clients is what the server keeps of each client that is connected.
type clients struct {
	session toolSession

	mu  sync.Mutex
	all map[*mcp.ServerSession]*client
}

// client is one connected client. Its calls end with it.
type client struct {
	roots roots

	shown sync.Map // the clients' names of deferred tools that it has searched for

	gone context.Context
	end  context.CancelFunc
}

func newClients(s toolSession) *clients {
	return &clients{session: s, all: make(map[*mcp.ServerSession]*client)}
}

// of returns what is kept of a client, until its session has ended.
func (c *clients) of(s *mcp.ServerSession) *client {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.all[s]; known != nil {
		return known
	}
	known := &client{roots: roots{wide: c.session}}
	known.gone, known.end = context.WithCancel(context.Background())
	c.all[s] = known
	go func() {
		_ = s.Wait() // however it ended
		known.end()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.all, s)
	}()
	return known
}

// show lists deferred tools to the client from now on, and reports whether one of them was not listed before.
func (c *client) show(names []string) bool {
	more := false
	for _, name := range names {
		_, was := c.shown.LoadOrStore(name, true)
		more = more || !was
	}
	return more
}

// shows reports whether a deferred tool is listed to the client.
func (c *client) shows(name string) bool {
	_, ok := c.shown.Load(name)
	return ok
}

// forget lists tools that are gone to nobody, should they come back.
func (c *clients) forget(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.all {
		for _, name := range names {
			known.shown.Delete(name)
		}
	}
}

// cancel ends the calls of a session over HTTP.
func (c *clients) cancel(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s, known := range c.all {
		if s.ID() == id {
			known.end()
		}
	}
}

// bound returns a context that ends with the client, too.
func (c *client) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.gone, cancel)
	return ctx, func() { stop(); cancel() }
}

// cancelAll ends the calls of all.
func (c *clients) cancelAll() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.all {
		known.end()
	}
}
