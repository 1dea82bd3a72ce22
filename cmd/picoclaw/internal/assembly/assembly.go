// Package assembly makes of one configuration what runs: a host with the hooks and tools that it asks for, agents with
// their models, their schedule, and MCP for clients.
//
// It must not know how any of them works, nor what a person types.
package assembly

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/gateway"
	"github.com/picoclaw/picoclaw/host/hooks"
	"github.com/picoclaw/picoclaw/host/mcp"
)

// Options are what is assembled, and of what.
type Options struct {
	Config    *config.Config
	PluginDir string // as [host.Options] has it
	SelfTest  []string
	Logger    hclog.Logger
	Version   string
	Observe   func(audit.Record, *host.Result) // nil for nobody
	Token     func(agent string) (string, error)
	Model     string        // the name of the model that all agents have; empty for each its own
	Schedules *Schedules    // nil for an assembly without a schedule
	Grace     time.Duration // how long jobs may go on at the end
}

// Assembly is what one configuration makes. It may be used concurrently.
type Assembly struct {
	*host.Host
	options Options
	config  *config.Config
	hooks   *hooks.Hooks
	team    *agent.Team
	models  func() error    // what is wrong with agents' models
	life    context.Context // done at the end
	end     context.CancelFunc

	mu      sync.Mutex
	clients map[string]*served // what MCP clients of each agent use
}

// Open assembles. It starts nothing but what [host.Open] does.
func Open(o Options) (*Assembly, error) {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	a := &Assembly{options: o, config: o.Config, clients: map[string]*served{}}
	a.life, a.end = context.WithCancel(context.Background())
	a.models = sync.OnceValue(a.checkModels)
	var err error
	if a.hooks, err = NewHooks(o.Config, o.Logger); err != nil {
		return nil, err
	}
	forHost := host.Options{Config: o.Config, PluginDir: o.PluginDir, Logger: o.Logger, SelfTest: o.SelfTest,
		Observe: o.Observe}
	if a.hooks != nil {
		forHost.Hooks = a.hooks
	}
	forHost.Approvals = NewApprovals(o.Config, a.hooks, o.Logger)
	cron, err := a.cronTool()
	if err != nil {
		return nil, err
	}
	team, err := a.newTeam()
	if err != nil {
		return nil, err
	}
	forHost.Own = []host.OwnPlugin{cron, team}
	if a.Host, err = host.Open(forHost); err != nil {
		return nil, err
	}
	return a, nil
}

// Checks says what has to be in order for calls to be made, and what is not.
func (a *Assembly) Checks() []gateway.Check {
	all := []gateway.Check{{Name: "isolation", Err: a.Ready()}}
	plugins := gateway.Check{Name: "plugins"}
	for _, p := range a.Plugins().Problems() {
		plugins.Err = errors.Join(plugins.Err, fmt.Errorf("plugin %s is not offered: %w", p.Plugin, p.Err))
	}
	return append(all, plugins, gateway.Check{Name: "models", Err: a.models()})
}

// checkModels says which agents can't have their models. Keys may take programs to ask, so it is looked at once.
func (a *Assembly) checkModels() error {
	var wrong error
	if len(a.config.Models()) > 0 {
		for _, id := range a.config.AgentIDs() {
			wrong = errors.Join(wrong, a.CheckModel(id))
		}
	}
	return wrong
}

// CheckModel says why an agent can't have its model.
func (a *Assembly) CheckModel(id string) error {
	of, err := a.config.Agent(id)
	if err != nil {
		return err
	}
	m, err := a.modelOf(of)
	if err == nil {
		_, _, err = a.model(m, nil)
	}
	return err
}

// Busy says what has begun and not ended.
func (a *Assembly) Busy() (running, sessions int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.clients {
		sessions += s.server.Connected()
	}
	return a.Running(), sessions
}

// Close ends everything.
func (a *Assembly) Close(ctx context.Context) error {
	a.Retire()
	a.end()
	a.mu.Lock()
	all := a.clients
	a.mu.Unlock()
	for _, s := range all {
		s.end()
		s.server.End(ctx)
	}
	if s := a.options.Schedules; s != nil && s.current() == a {
		s.ended.Wait()
	}
	a.team.Close()
	a.hooks.Close(ctx)
	return a.Host.Close(ctx)
}

// served is MCP for one agent.
type served struct {
	server *mcp.Server
	http.Handler
	end context.CancelFunc
}

// For serves MCP for one agent.
func (a *Assembly) serve(agent string) (*served, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.clients[agent]; s != nil {
		return s, nil
	}
	session, err := a.Session(agent, host.MCP)
	if err != nil {
		return nil, err
	}
	token, err := a.options.Token(agent)
	if err != nil {
		return nil, err
	}
	server := mcp.NewServer(session, a.options.Version, mcp.Instructions(session.Policy()))
	handler, err := server.Handler(mcp.HTTPOptions{Token: token, Hosts: a.config.Gateway().AllowHosts})
	if err != nil {
		return nil, err
	}
	ctx, end := context.WithCancel(context.Background())
	go server.Follow(ctx, a.Changes(ctx.Done()))
	a.clients[agent] = &served{server, handler, end}
	return a.clients[agent], nil
}

// Has reports whether an MCP session is one of this assembly's.
func (a *Assembly) Has(session string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, s := range a.clients {
		if s.server.Has(session) {
			return true
		}
	}
	return false
}

// ServeHTTP serves MCP: the agent that a path names, as in /mcp/main, or at /mcp the first one.
func (a *Assembly) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	ids := a.config.AgentIDs()
	agent := ids[0]
	if below, named := strings.CutPrefix(strings.TrimSuffix(r.URL.Path, "/"), mcp.Path+"/"); named {
		agent = below
		r = r.Clone(r.Context())
		r.URL.Path = mcp.Path
	}
	if !slices.Contains(ids, agent) {
		http.Error(w, "no agent of this name is served here", http.StatusNotFound)
		return
	}
	s, err := a.serve(agent)
	if err != nil {
		a.options.Logger.Error("an agent can't be served", "agent", agent, "error", err)
		http.Error(w, "the agent can't be served; the gateway's log says why", http.StatusInternalServerError)
		return
	}
	s.ServeHTTP(w, r)
}
