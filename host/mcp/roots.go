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
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// rootsTimeout is how long a client may take to list its roots.
const rootsTimeout = 10 * time.Second

// roots are the directories that a client wants its agent to work in. They choose within what the operator has allowed:
// those inside it narrow the session; those elsewhere say nothing about it and open nothing. So do all where the
// workspace is on another machine.
type roots struct {
	wide toolSession

	changes atomic.Int64 // how often the client has said that they are others

	mu     sync.Mutex  // held while the client is asked
	known  toolSession // nil until then
	listed int64       // changes when it was asked
}

// changed has the client asked again at the next call.
func (r *roots) changed() { r.changes.Add(1) }

// session returns the session that a client's calls are made in. The client is asked at its first call, not before: one
// that only lists tools need not wait.
func (r *roots) session(ctx context.Context, client *mcp.ServerSession) (toolSession, error) {
	wide, here := r.wide.(local)
	if !here || !hasRoots(client) {
		return r.wide, nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.changes.Load()
	if r.known != nil && r.listed == now {
		return r.known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsTimeout)
	defer cancel()
	list, err := client.ListRoots(ctx, nil)
	var answered *jsonrpc.Error
	switch {
	case errors.As(err, &answered):
		list = &mcp.ListRootsResult{} // it has none to name
	case err != nil:
		return nil, fmt.Errorf("the client was asked for its roots (roots/list): %w", err)
	case slices.Contains(list.Roots, nil):
		return nil, errors.New("the client was asked for its roots (roots/list): a root in its answer is null")
	}
	narrowed, err := narrow(wide, list.Roots)
	if err != nil {
		return nil, fmt.Errorf("the client's roots can't be used: %w", err)
	}
	r.known, r.listed = narrowed, now
	return narrowed, nil
}

// noRoots is the result of a call for which it is not known where the client works.
func noRoots(err error) *session.Result {
	return &session.Result{Err: &session.Error{Code: pluginpb.CodeUnavailable, Message: err.Error(),
		Hint: "the client has to name directories that exist, or none"}}
}

// hasRoots reports whether a client can be asked. The newest protocol has given roots up.
func hasRoots(client *mcp.ServerSession) bool {
	p := client.InitializeParams()
	return p != nil && p.Capabilities != nil && p.Capabilities.RootsV2 != nil && p.ProtocolVersion < inRounds
}

// narrow is a session with what a client's roots leave of another one. With a single root relative paths start there.
func narrow(s local, listed []*mcp.Root) (toolSession, error) {
	if len(listed) == 0 {
		return s, nil // it has none to name
	}
	allowed := s.Policy().Guard()
	var inside []string
	for _, root := range listed {
		path, ok := directory(root.URI)
		switch {
		case !ok:
		case paths.Within(path, allowed.Workspace):
			return s, nil // all of it
		case !allowed.Restrict || paths.Within(allowed.Workspace, path):
			inside = append(inside, path)
		}
	}
	if len(inside) == 0 {
		return s, nil
	}
	child := policy.Child{Paths: inside}
	if len(inside) == 1 {
		child.Workspace = inside[0]
	}
	narrower, err := spawn(s, child)
	if err != nil || len(allowed.Paths) > 0 { // then it may be the operator who leaves a path out
		return narrower, err
	}
	return rooted{narrower}, nil
}

// rooted is a session in which nothing but the client's roots leaves out paths that the policy opens.
type rooted struct{ toolSession }

// ruleConstraint is the guard's for paths that are left out.
const ruleConstraint = "constraint.paths"

// Call has the refusal of a path that is left out name who did that.
func (r rooted) Call(
	ctx context.Context, tool string, arguments json.RawMessage, events func(session.Event),
) *session.Result {
	result := r.toolSession.Call(ctx, tool, arguments, events)
	if e := result.Err; e != nil && e.Rule == ruleConstraint {
		e.Hint = "it is outside the roots that the client has named: use a path within them, " +
			"or have the client name another directory"
	}
	return result
}

func spawn(s local, child policy.Child) (toolSession, error) {
	narrower, err := s.Spawn(session.MCP, child)
	if err != nil {
		return nil, err
	}
	return narrower, nil
}

// directory is the local directory that a root's URI means, with symbolic links resolved as far as it exists.
func directory(uri string) (path string, ok bool) {
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
