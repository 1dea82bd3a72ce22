package host

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/session"
)

// doors are MCP over HTTP for agents, each with a path and a token of its own, whose sessions are opened when somebody
// comes.
type doors struct {
	version string
	hosts   []string // that requests may be addressed to
	first   string   // the agent that is served where none is named
	token   func(agent string) (string, error)
	open    func(ctx context.Context, agent string) (*door, error)
	log     hclog.Logger

	mu  sync.Mutex
	all map[string]*served
}

// door is an agent's session for clients.
type door struct {
	session interface {
		Tools() []session.Tool
		Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.Event)) *session.Result
	}
	instructions string
	changes      func(context.Context) <-chan struct{}
}

// errNobody is the error of an agent that there is not.
var errNobody = errors.New("no agent of this name is served here")

// served is MCP for one agent.
type served struct {
	server *mcp.Server
	http.Handler
	end context.CancelFunc
}

// serve returns what serves an agent.
func (d *doors) serve(ctx context.Context, agent string) (*served, error) {
	d.mu.Lock()
	known := d.all[agent]
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
	handler, err := server.NewHTTPHandler(mcp.HTTPOptions{Token: token, Hosts: d.hosts})
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.all[agent]; known != nil { // somebody was faster
		return known, nil
	}
	life, end := context.WithCancel(context.Background())
	go server.FollowChanges(life, opened.changes(life))
	d.all[agent] = &served{server, handler, end}
	return d.all[agent], nil
}

// connected is how many MCP sessions there are.
func (d *doors) connected() (sessions int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.all {
		sessions += s.server.CountSessions()
	}
	return sessions
}

// close ends all sessions.
func (d *doors) close(ctx context.Context) {
	d.mu.Lock()
	all := d.all
	d.mu.Unlock()
	for _, s := range all {
		s.end()
		s.server.EndSessions(ctx)
	}
}

// Has reports whether an MCP session is one of these.
func (d *doors) Has(sess string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.all {
		if s.server.HasSession(sess) {
			return true
		}
	}
	return false
}

// ServeHTTP serves MCP: the agent that a path names, as in /mcp/main, or at /mcp the first one.
func (d *doors) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	agent := d.first
	if below, named := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), mcp.Path+"/"); named {
		agent = below
		r = r.Clone(r.Context())
		r.URL.Path = mcp.Path
	}
	s, err := d.serve(r.Context(), agent)
	if errors.Is(err, errNobody) {
		http.Error(w, errNobody.Error(), http.StatusNotFound)
		return
	}
	if err != nil {
		d.log.Error("an agent can't be served", "agent", agent, "error", err)
		http.Error(w, "the agent can't be served; the gateway's log says why", http.StatusInternalServerError)
		return
	}
	s.ServeHTTP(w, r)
}
