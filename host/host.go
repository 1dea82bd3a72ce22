// Package host opens an assembled runtime from a configuration: sessions with their hooks and built-in tools, agents with
// their models, the schedule, the console and MCP for clients.
//
// It must not know how any of them works, nor what a person types. No package below host imports it.
package host

import (
	"context"
	"errors"
	"fmt"
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

// Options are what is assembled, and of what.
type Options struct {
	Config     *config.Config
	PluginDir  string // as [session.Options] has it
	SelfTest   []string
	Logger     hclog.Logger
	Version    string
	Observe    func(audit.Record, *session.Result)          // nil for nobody
	Witness    func(ctx context.Context, note []byte) error // nil for none but the configuration's
	Telemetry  *telemetry.Telemetry                         // nil for one of its own, as its configuration says
	Shares     *quota.Ledger                                // nil for a count of its own
	Token      func(agent string) (string, error)
	Model      string        // the name of the model that all agents have; empty for each its own
	Schedules  *Schedules    // nil for an assembly without a schedule
	NoBuiltIns bool          // leave out the built-in tools, spawn and cron: agents can't converse then
	Grace      time.Duration // how long jobs may go on at the end
}

// Assembly is what one configuration makes. It may be used concurrently.
type Assembly struct {
	*session.Host
	options Options
	config  *config.Config
	hooks   *hooks.Hooks
	told    *telemetry.Telemetry // nil for none
	team    *agent.Team
	models  func() error    // what is wrong with agents' models
	life    context.Context // done at the end
	end     context.CancelFunc

	doors // what MCP clients use
}

// Open assembles. It starts nothing but what [session.Open] does.
func Open(o Options) (*Assembly, error) {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	a := &Assembly{options: o, config: o.Config, doors: doors{version: o.Version, token: o.Token,
		hosts: o.Config.Gateway().AllowHosts, first: o.Config.AgentIDs()[0], log: o.Logger, all: map[string]*served{}}}
	a.open = a.door
	a.life, a.end = context.WithCancel(context.Background())
	a.models = sync.OnceValue(a.checkModels)
	var err error
	if a.hooks, err = NewHooks(o.Config, o.Logger); err != nil {
		return nil, err
	}
	forHost := session.Options{Config: o.Config, PluginDir: o.PluginDir, Logger: o.Logger, SelfTest: o.SelfTest,
		OnCallEnd: o.Observe, Shares: o.Shares, Witness: o.Witness}
	if a.hooks != nil {
		forHost.Hooks = a.hooks
	}
	forHost.Approvals = NewApprovals(o.Config, a.hooks, o.Logger)
	if !o.NoBuiltIns {
		if forHost.Builtin, err = a.builtIns(); err != nil {
			return nil, err
		}
	}
	if a.told = o.Telemetry; a.told == nil {
		if a.told, err = NewTelemetry(o.Config, o.Version, false, o.Logger); err != nil {
			return nil, err
		}
	}
	if a.told != nil {
		forHost.Tracer = a.told
	}
	if a.Host, err = session.Open(forHost); err != nil {
		a.closeTelemetry(context.Background())
		return nil, err
	}
	return a, nil
}

// builtIns makes the tools that the host itself serves.
func (a *Assembly) builtIns() ([]session.BuiltinPlugin, error) {
	cron, err := a.cronTool()
	if err != nil {
		return nil, err
	}
	team, err := a.newTeam()
	return []session.BuiltinPlugin{cron, team}, err
}

// Checks says what has to be in order for calls to be made, and what is not.
func (a *Assembly) Checks() []gateway.Check {
	all := []gateway.Check{{Name: "isolation", Err: a.Prepare()}}
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
	of, err := a.config.ResolveAgent(id)
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
	return a.RunningCount(), a.connected()
}

// door opens an agent's session for clients.
func (a *Assembly) door(_ context.Context, agent string) (*door, error) {
	if !slices.Contains(a.config.AgentIDs(), agent) {
		return nil, errNobody
	}
	sess, err := a.OpenSession(agent, session.MCP)
	if err != nil {
		return nil, err
	}
	return &door{sess, mcp.Instructions(sess.Policy()), func(ctx context.Context) <-chan struct{} {
		return a.WatchPlugins(ctx.Done())
	}}, nil
}

// Close ends everything.
func (a *Assembly) Close(ctx context.Context) error {
	a.Retire()
	a.end()
	a.doors.close(ctx)
	if s := a.options.Schedules; s != nil && s.current() == a {
		s.ended.Wait()
	}
	if a.team != nil {
		a.team.Close()
	}
	a.hooks.Close(ctx)
	defer a.closeTelemetry(ctx)
	return a.Host.Close(ctx)
}

// closeTelemetry ends what tells of calls, unless it is somebody else's.
func (a *Assembly) closeTelemetry(ctx context.Context) {
	if a.options.Telemetry == nil {
		a.told.Close(ctx)
	}
}
