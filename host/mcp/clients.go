package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// clientSet holds the state of each connected client.
type clientSet struct {
	session toolProvider

	mu       sync.Mutex
	all      map[*mcp.ServerSession]*clientState
	narrowed map[narrowedSession]toolProvider
}

// clientState is the state of one connected client. Disconnecting cancels the client's calls.
type clientState struct {
	roots     clientRoots
	narrowing atomic.Pointer[string] // JSON text of narrowKey in initialize; nil for none

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

// rootsTimeout is the time for a client to list its roots.
const rootsTimeout = 10 * time.Second

// clientRoots tracks the roots of a client. Roots inside the agent's allowed directories restrict the session to them,
// if it has a local workspace; other roots have no effect.
type clientRoots struct {
	unnarrowed toolProvider

	changes atomic.Int64 // counts roots/list_changed notifications; the call after one asks for the roots again

	mu       sync.Mutex   // held during roots/list
	narrowed toolProvider // nil before the first roots/list
	listed   int64        // value of changes at the last roots/list
}

// narrowedSession returns the session for a client's calls, restricted to the client's roots. It asks for the roots at
// the first call, so that clients that only list tools need not wait.
func (r *clientRoots) narrowedSession(ctx context.Context, client *mcp.ServerSession) (toolProvider, error) {
	wide, here := r.unnarrowed.(localSession)
	if !here || !clientSupportsRoots(client) {
		return r.unnarrowed, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.changes.Load()
	if r.narrowed != nil && r.listed == now {
		return r.narrowed, nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsTimeout)
	defer cancel()
	list, err := client.ListRoots(ctx, nil)
	var answered *jsonrpc.Error
	switch {
	case errors.As(err, &answered):
		list = &mcp.ListRootsResult{} // the client has no roots
	case err != nil:
		return nil, fmt.Errorf("ask the client for its roots (roots/list): %w", err)
	case slices.Contains(list.Roots, nil):
		return nil, errors.New("ask the client for its roots (roots/list): the response contains a null root")
	}
	narrowed, err := narrowToRoots(wide, list.Roots)
	if err != nil {
		return nil, fmt.Errorf("the client's roots can't be used: %w", err)
	}
	r.narrowed, r.listed = narrowed, now
	return narrowed, nil
}

// clientSupportsRoots reports whether the server can ask a client for roots. The newest protocol version has no roots.
func clientSupportsRoots(client *mcp.ServerSession) bool {
	p := client.InitializeParams()
	return p != nil && p.Capabilities != nil && p.Capabilities.RootsV2 != nil && p.ProtocolVersion < statelessSince
}

// narrowToRoots returns the session restricted to a client's roots. With a single root, relative paths start there.
func narrowToRoots(s localSession, listed []*mcp.Root) (toolProvider, error) {
	if len(listed) == 0 {
		return s, nil // the client has no roots
	}
	allowed := s.Policy().GuardPolicy()
	var inside []string
	for _, root := range listed {
		path, ok := localDirectoryOfURI(root.URI)
		switch {
		case !ok:
		case paths.Within(path, allowed.Workspace):
			return s, nil // the root contains the workspace
		case !allowed.Restrict || paths.Within(allowed.Workspace, path):
			inside = append(inside, path)
		}
	}
	if len(inside) == 0 {
		return s, nil
	}
	child := policy.Restriction{Paths: inside}
	if len(inside) == 1 {
		child.Workspace = inside[0]
	}
	narrower, err := s.SpawnSession(session.MCP, child)
	switch {
	case err != nil:
		return nil, err
	case len(allowed.Paths) > 0: // the operator's paths may be the reason for a refusal
		return narrower, nil
	}
	return rootNarrowedSession{narrower}, nil
}

// rootNarrowedSession is a session that is restricted to the client's roots, and says so in refusals of other paths.
type rootNarrowedSession struct{ localSession }

// ruleConstraint is the guard's rule that refuses paths outside the allowed directories.
const ruleConstraint = "constraint.paths"

// Call makes a call. It adds an explanation to a refusal of a path outside the client's roots.
func (r rootNarrowedSession) Call(
	ctx context.Context, tool string, arguments json.RawMessage, events func(session.CallEvent),
) *session.Result {
	result := r.localSession.Call(ctx, tool, arguments, events)
	if e := result.Err; e != nil && e.Rule == ruleConstraint {
		e.Hint = "the path is outside the client's roots: use a path within them, " +
			"or have the client name another directory"
	}
	return result
}

// localDirectoryOfURI returns the local directory of a root's file URI, with symlinks resolved.
func localDirectoryOfURI(uri string) (path string, ok bool) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Host != "" && u.Host != "localhost" || !filepath.IsAbs(u.Path) {
		return "", false
	}
	path = filepath.Clean(u.Path)
	if resolved, err := paths.Resolve(path); err == nil {
		path = resolved
	}
	return path, true
}
