// Package host opens an assembled runtime from a configuration: sessions with their hooks and built-in tools, agents
// with their models, the schedule, the console and MCP for clients.
//
// It must not know how any of them works, nor what a person types. No package below host imports it.
package host

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/gateway"
	"github.com/picoclaw/picoclaw/host/hooks"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/telemetry"
)

// Options configure a [Runtime].
type Options struct {
	Config     *config.Config
	SelfTest   []string
	Logger     hclog.Logger
	Version    string
	Observe    func(audit.Record, *session.Result)          // may be nil
	Witness    func(ctx context.Context, note []byte) error // in addition to the configured one; may be nil
	Telemetry  *telemetry.Telemetry                         // nil to create the configured one
	Shares     *quota.UsageLedger                           // nil for a separate ledger
	Token      func(agent string) (string, error)
	Model      string           // model for all agents; empty for each agent's own
	Schedules  *AgentSchedulers // nil for a runtime without a schedule
	NoBuiltIns bool             // leave out the built-in tools, spawn and cron: agents can't converse then
	Grace      time.Duration    // for running jobs at the end
}

// Runtime runs one configuration: its sessions, hooks, schedules and endpoints. It is safe for concurrent use.
type Runtime struct {
	*session.Host
	options     Options
	config      *config.Config
	hooks       *hooks.Hooks
	telemetry   *telemetry.Telemetry // may be nil
	team        *agent.Team
	modelErrors func() error    // checks the agents' models once
	ctx         context.Context // done at Close
	cancel      context.CancelFunc

	*mcpEndpoints // HTTP handlers for MCP clients, one for each agent and directory
}

// OpenRuntime creates a runtime. It starts only the processes that [session.Open] starts.
func OpenRuntime(o Options) (*Runtime, error) {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	endpoints, err := newMCPEndpoints(o.Config, o.Version, o.Token, o.Logger)
	if err != nil {
		return nil, err
	}
	a := &Runtime{options: o, config: o.Config, mcpEndpoints: endpoints}
	a.open = a.openMCPSession
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.modelErrors = sync.OnceValue(a.checkModels)
	if a.hooks, err = NewHooks(o.Config, o.Logger); err != nil {
		return nil, err
	}
	forHost := session.HostOptions{Config: o.Config, Logger: o.Logger, SelfTest: o.SelfTest,
		OnCallEnd: o.Observe, QuotaLedger: o.Shares, Witness: o.Witness}
	if a.hooks != nil {
		forHost.Hooks = a.hooks
	}
	forHost.Approvals = NewApprovalQueue(o.Config, a.hooks, o.Logger)
	if !o.NoBuiltIns {
		if forHost.Builtin, err = a.builtinPlugins(); err != nil {
			return nil, err
		}
	}
	if a.telemetry = o.Telemetry; a.telemetry == nil {
		if a.telemetry, err = NewTelemetry(o.Config, o.Version, false, o.Logger); err != nil {
			return nil, err
		}
	}
	if a.telemetry != nil {
		forHost.Tracer = a.telemetry
	}
	if a.Host, err = session.OpenHost(forHost); err != nil {
		a.closeTelemetry(context.Background())
		return nil, err
	}
	return a, nil
}

// builtinPlugins returns the plugins that the host itself serves.
func (a *Runtime) builtinPlugins() ([]session.BuiltinPlugin, error) {
	cron, err := a.newCronPlugin()
	if err != nil {
		return nil, err
	}
	team, err := a.newTeamPlugin()
	return []session.BuiltinPlugin{cron, team}, err
}

// HealthChecks checks if calls can run and returns the results.
func (a *Runtime) HealthChecks() []gateway.ReadinessCheck {
	all := []gateway.ReadinessCheck{{Name: "isolation", Err: a.PrepareForCalls()}}
	agents, tokens, plugins := gateway.ReadinessCheck{Name: "agents"}, gateway.ReadinessCheck{Name: "tokens"}, gateway.ReadinessCheck{Name: "plugins"}
	if stop := a.StopOfAgent(""); stop != nil { // a stop of one agent does not concern the others
		agents.Err = &session.AgentStoppedError{Stop: stop}
	}
	for _, id := range a.config.AgentIDs() {
		if a.options.Token != nil {
			_, err := a.options.Token(id)
			tokens.Err = errors.Join(tokens.Err, err)
		}
	}
	for _, p := range a.PluginCatalog().Problems() {
		plugins.Err = errors.Join(plugins.Err, p.ToError())
	}
	all = append(all, agents, tokens, plugins, gateway.ReadinessCheck{Name: "models", Err: a.modelErrors()})
	if s := a.options.Schedules; s != nil {
		all = append(all, gateway.ReadinessCheck{Name: "jobs", Err: s.schedulerErrors()})
	}
	return all
}

// checkModels returns an error for agents whose model can't be used.
func (a *Runtime) checkModels() error {
	var wrong error
	if len(a.config.Models()) > 0 {
		for _, id := range a.config.AgentIDs() {
			wrong = errors.Join(wrong, a.CheckModel(id))
		}
	}
	return wrong
}

// CheckModel returns an error if an agent's model can't be used.
func (a *Runtime) CheckModel(id string) error {
	of, err := a.config.ResolveAgent(id)
	if err != nil {
		return err
	}
	m, err := a.findAgentModel(of)
	if err == nil {
		_, _, err = a.newModel(m, nil)
	}
	return err
}

// ActivityCounts returns the number of running calls and turns, and of MCP sessions.
func (a *Runtime) ActivityCounts() (running, sessions int) {
	return a.RunningWorkCount(), a.countSessions()
}

// openMCPSession opens an agent's session for MCP clients.
func (a *Runtime) openMCPSession(_ context.Context, agent string) (*agentMCPSession, error) {
	if !slices.Contains(a.config.AgentIDs(), agent) {
		return nil, errUnknownAgent
	}
	sess, err := a.OpenSession(agent, session.MCP)
	if err != nil {
		return nil, err
	}
	return &agentMCPSession{sess, mcp.ModelInstructions(sess.Policy()), func(ctx context.Context) <-chan struct{} {
		return a.WatchPluginChanges(ctx.Done())
	}}, nil
}

// Close ends all sessions and closes everything the runtime has opened.
func (a *Runtime) Close(ctx context.Context) error {
	a.StopSchedulers()
	a.cancel()
	a.closeEndpoints(ctx)
	if s := a.options.Schedules; s != nil && s.currentRuntime() == a {
		s.ended.Wait()
	}
	if a.team != nil {
		a.team.Close()
	}
	a.hooks.Close(ctx)
	defer a.closeTelemetry(ctx)
	return a.Host.Close(ctx)
}

// closeTelemetry closes the telemetry, unless the caller provided it.
func (a *Runtime) closeTelemetry(ctx context.Context) {
	if a.options.Telemetry == nil {
		a.telemetry.Close(ctx)
	}
}
