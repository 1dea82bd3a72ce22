package host

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/session"
)

// mcpEndpoints serve MCP over HTTP: one path and token per agent, whose session is opened on the first request.
type mcpEndpoints struct {
	version      string
	allowedHosts []string // that requests may be addressed to
	defaultAgent string   // the agent that is served where none is named
	home         config.Home
	token        func(agent string) (string, error)
	open         func(ctx context.Context, agent string) (*agentDoor, error)
	log          hclog.Logger

	mu        sync.Mutex
	endpoints map[string]*mcpEndpoint
}

// agentDoor is an agent's session for MCP clients.
type agentDoor struct {
	session interface {
		Tools() []session.Tool
		Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.Event)) *session.Result
	}
	instructions string
	changes      func(context.Context) <-chan struct{}
}

// errUnknownAgent is the error of an agent that is not served here.
var errUnknownAgent = errors.New("no agent of this name is served here")

// mcpEndpoint serves MCP for one agent.
type mcpEndpoint struct {
	server *mcp.Server
	http.Handler
	cancel context.CancelFunc
}

// endpointFor returns the endpoint of an agent, created on first use.
func (d *mcpEndpoints) endpointFor(ctx context.Context, agent string) (*mcpEndpoint, error) {
	d.mu.Lock()
	known := d.endpoints[agent]
	d.mu.Unlock()
	if known != nil {
		return known, nil
	}
	opened, err := d.open(ctx, agent)
	if err != nil {
		return nil, err
	}
	token, err := d.token(agent)
	if err != nil {
		return nil, err
	}
	server := mcp.NewServer(opened.session, d.version, opened.instructions)
	if !d.home.Fallback {
		if err = server.KeepStates(d.home.Path, agent); err != nil {
			return nil, err
		}
	}
	handler, err := server.NewHTTPHandler(mcp.HTTPOptions{Token: token, Hosts: d.allowedHosts})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.endpoints[agent]; known != nil { // created concurrently
		return known, nil
	}
	life, end := context.WithCancel(context.Background())
	go server.FollowChanges(life, opened.changes(life))
	d.endpoints[agent] = &mcpEndpoint{server, handler, end}
	return d.endpoints[agent], nil
}

// countSessions returns the number of MCP sessions.
func (d *mcpEndpoints) countSessions() (sessions int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.endpoints {
		sessions += s.server.CountSessions()
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
		s.server.EndSessions(ctx)
	}
}

// HasSession reports whether an MCP session is served here.
func (d *mcpEndpoints) HasSession(sess string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.endpoints {
		if s.server.HasSession(sess) {
			return true
		}
	}
	return false
}

// ServeHTTP serves MCP for the agent in the path, as in /mcp/main, or at /mcp for the first one.
func (d *mcpEndpoints) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	agent := d.defaultAgent
	if below, named := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), mcp.Path+"/"); named {
		agent = below
		r = r.Clone(r.Context())
		r.URL.Path = mcp.Path
	}
	s, err := d.endpointFor(r.Context(), agent)
	if errors.Is(err, errUnknownAgent) {
		http.Error(w, errUnknownAgent.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		d.log.Error("an agent can't be served", "agent", agent, "error", err)
		http.Error(w, "the agent can't be served; the gateway's log says why", http.StatusInternalServerError)
		return
	}
	s.ServeHTTP(w, r)
}
