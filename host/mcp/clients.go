package mcp

import (
	"context"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// clientSet holds the state of each connected client.
type clientSet struct {
	session toolProvider

	mu  sync.Mutex
	all map[*mcp.ServerSession]*clientState
}

// clientState is the state of one connected client. Disconnecting cancels the client's calls.
type clientState struct {
	roots clientRoots

	listed sync.Map // client names of deferred tools found by this client

	ctx    context.Context
	cancel context.CancelFunc
}

// getOrCreateClientState returns the state of a client. It creates a missing state, and removes it when the client's session
// ends.
func (c *clientSet) getOrCreateClientState(s *mcp.ServerSession) *clientState {
	c.mu.Lock()
	defer c.mu.Unlock()
	if known := c.all[s]; known != nil {
		return known
	}
	known := &clientState{roots: clientRoots{unnarrowed: c.session}}
	known.ctx, known.cancel = context.WithCancel(context.Background())
	c.all[s] = known
	go func() {
		_ = s.Wait() // the error does not matter
		known.cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.all, s)
	}()
	return known
}

// addListedTools adds deferred tools to the client's tool list. It reports whether the list changed.
func (c *clientState) addListedTools(names []string) bool {
	more := false
	for _, name := range names {
		_, was := c.listed.LoadOrStore(name, true)
		more = more || !was
	}
	return more
}

// unlistTools removes tools from the lists of all clients. They are deferred again if a plugin offers them again.
func (c *clientSet) unlistTools(names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.all {
		for _, name := range names {
			known.listed.Delete(name)
		}
	}
}

// cancelSessionCalls cancels the calls of the HTTP session with an id.
func (c *clientSet) cancelSessionCalls(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for s, known := range c.all {
		if s.ID() == id {
			known.cancel()
		}
	}
}

// callContext returns a context that ends with ctx, or when the client disconnects.
func (c *clientState) callContext(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	return ctx, func() { stop(); cancel() }
}

func (c *clientSet) cancelAllCalls() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.all {
		known.cancel()
	}
}
