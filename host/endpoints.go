package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
)

// mcpEndpoints serves MCP over HTTP. Each agent has a path and a token, and the first request opens its session.
type mcpEndpoints struct {
	version      string
	allowedHosts []string // that requests may be addressed to
	defaultAgent string   // the agent that is served where none is named
	home         config.Home
	token        func(agent string) (string, error)
	open         func(ctx context.Context, agent string) (*agentMCPSession, error)
	log          hclog.Logger

	mu        sync.Mutex
	endpoints map[string]*mcpEndpoint // by agent, or agent, "/" and directory
}

// maxDirEndpoints limits the endpoints for directories of workspaces.
const maxDirEndpoints = 64

// agentMCPSession is an agent's session that MCP clients use.
type agentMCPSession struct {
	session interface {
		Tools() []session.Tool
		Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.CallEvent)) *session.Result
	}
	instructions string
	changes      func(context.Context) <-chan struct{}
}

// spawnDirectorySession returns a session that is restricted to a directory of the workspace of d.
func spawnDirectorySession(d *agentMCPSession, dir string) (*agentMCPSession, error) {
	local, ok := d.session.(*session.Session)
	if !ok {
		return nil, errUnknownAgent // on another machine
	}
	narrowed, err := local.SpawnSession(session.MCP, policy.PathRestriction{Workspace: dir, Paths: []string{dir}})
	if err != nil {
		return nil, errors.Join(errUnknownAgent, err)
	}
	return &agentMCPSession{narrowed, mcp.ModelInstructions(narrowed.Policy()), d.changes}, nil
}

// errUnknownAgent means that the gateway does not serve an agent.
var errUnknownAgent = errors.New("no agent of this name is served here")

// mcpEndpoint serves MCP for one agent, or for a directory of its workspace.
type mcpEndpoint struct {
	server *mcp.Server
	http.Handler
	cancel context.CancelFunc
}

// endpointForAgent returns the endpoint of an agent, or of a directory of its workspace. The first call creates it.
func (d *mcpEndpoints) endpointForAgent(ctx context.Context, agent, dir string) (*mcpEndpoint, error) {
	key := agent
	if dir != "" {
		key += "/" + dir
	}
	d.mu.Lock()
	known, full := d.endpoints[key], dir != "" && len(d.endpoints) >= maxDirEndpoints
	d.mu.Unlock()
	if known != nil {
		return known, nil
	}
	if full {
		return nil, errTooManyPaths
	}
	opened, err := d.open(ctx, agent)
	if err == nil && dir != "" {
		opened, err = spawnDirectorySession(opened, dir)
	}
	if err != nil {
		return nil, err
	}
	token, err := d.token(agent)
	if err != nil {
		return nil, err
	}
	server := mcp.NewServer(opened.session, d.version, opened.instructions)
	if !d.home.Fallback {
		if err = server.PersistQuestionStates(d.home.Path, key); err != nil {
			return nil, err
		}
	}
	handler, err := server.NewHTTPHandler(mcp.HTTPOptions{Token: token, Hosts: d.allowedHosts,
		ReadToken: func() (string, error) { return d.token(agent) }})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.endpoints[key]; known != nil { // created concurrently
		return known, nil
	}
	life, end := context.WithCancel(context.Background())
	go server.FollowToolChanges(life, opened.changes(life))
	d.endpoints[key] = &mcpEndpoint{server, handler, end}
	return d.endpoints[key], nil
}

// countSessions returns the number of open MCP sessions.
func (d *mcpEndpoints) countSessions() (sessions int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.endpoints {
		sessions += s.server.CountHTTPSessions()
	}
	return sessions
}

// closeEndpoints ends all sessions.
func (d *mcpEndpoints) closeEndpoints(ctx context.Context) {
	d.mu.Lock()
	all := d.endpoints
	d.mu.Unlock()
	for _, s := range all {
		s.cancel()
		s.server.EndAllSessions(ctx)
	}
}

// HasSession reports whether these endpoints serve an MCP session.
func (d *mcpEndpoints) HasSession(sess string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.endpoints {
		if s.server.HasHTTPSession(sess) {
			return true
		}
	}
	return false
}

// errTooManyPaths means that maxDirEndpoints is reached.
var errTooManyPaths = fmt.Errorf("the clients of this gateway use %d directories in URLs; reload it to forget them", maxDirEndpoints)

// ServeHTTP serves MCP for the agent in the path, such as /mcp/main, or for the first agent at /mcp. At /mcp/main/docs
// it restricts the session to the directory docs of the agent's workspace.
func (d *mcpEndpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	agent, dir := d.defaultAgent, ""
	if below, named := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), mcp.Path+"/"); named {
		agent, dir, _ = strings.Cut(below, "/")
		r = r.Clone(r.Context())
		r.URL.Path = mcp.Path
	}
	s, err := d.endpointForAgent(r.Context(), agent, "")
	if err == nil && dir != "" {
		if token, tokenErr := d.token(agent); tokenErr == nil && mcp.HasBearerToken(r, token) {
			s, err = d.endpointForAgent(r.Context(), agent, dir)
		}
	}
	if errors.Is(err, errUnknownAgent) || errors.Is(err, errTooManyPaths) {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		d.log.Error("an agent can't be served", "agent", agent, "error", err)
		http.Error(w, "the agent can't be served; the gateway's log has the reason", http.StatusInternalServerError)
		return
	}
	s.ServeHTTP(w, r)
}
