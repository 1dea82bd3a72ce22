// Package session ties configuration, policy, plugins and the audit log together behind one entry.
//
// A [Host] owns them. A [Session] is one path on which an agent uses the host, and [Session.Call] is the only way to a
// tool, whoever calls: the command line, an MCP client, a scheduled task, a subagent. On it a call is decoded once,
// guarded, handed to its plugin, bounded and recorded.
//
// A plugin with the state grant has a directory of its own for each agent, <home>/state/<plugin>/<agent>. Those with
// the takeback grant have one together, <home>/state/takeback/<agent>. These are the places in the instance root that a
// sandbox can write to, and no two agents share an instance that has one.
//
// The packages below it know one concern each: config reads the configuration, policy resolves it for an agent, catalog
// knows the installed plugins, supervise runs them, audit keeps the log. This package must not know how any of them
// works, nor its users: MCP, agents, hooks, schedules, the console, the gateway and the fleet import it.
package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/host/halt"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/isolation"
)

// Options say what a host works with.
type Options struct {
	Config *config.Config
	// PluginDir is where the plugins are; empty for the directory "plugins" beside this program's binary.
	PluginDir string
	Logger    hclog.Logger
	// SelfTest is the command that attacks a sandbox from inside (see isolation/selftest). It is run once on each
	// machine, and calls are refused if the sandbox does not hold; without it the sandbox is taken at its word.
	SelfTest []string
	// Builtin are the tools that the program serves itself.
	Builtin []BuiltinPlugin
	// Hooks are asked about calls; nil for none.
	Hooks Hooks
	// Approvals have somebody answer for clients that can't ask; nil for nobody.
	Approvals Approvals
	// Shares counts what agents have of this host and of those that it is given to besides; nil for a count of its own.
	Shares *quota.Ledger
	// Observe, if not nil, is told of each call and its result when it has ended, before its caller is.
	Observe func(audit.Record, *Result)
	// Witness, if not nil, is told how far the audit log has come, besides the one in the configuration: see
	// [audit.WitnessOptions].
	Witness func(ctx context.Context, note []byte) error
	// Tracer follows calls; nil for nobody.
	Tracer Tracer
}

// Host owns configuration, plugins' lives and the audit log. It may be used concurrently. Making one starts nothing:
// plugins and the isolation layer start at the first call.
type Host struct {
	config    *config.Config
	logger    hclog.Logger
	selfTest  []string
	pluginDir string
	builtin   []BuiltinPlugin
	hooks     Hooks                       // nil for none
	approvals Approvals                   // nil for none
	observe   func(audit.Record, *Result) // nil for nobody
	tracer    Tracer                      // nil for nobody
	witness   func(context.Context, []byte) error
	store     *store.Store // nil without a home
	stops     stops
	shares    *quota.Ledger

	seen    atomic.Pointer[view] // the plugins
	reading sync.Mutex           // held while they are read again
	gone    withdrawn            // tools that plugins have taken back

	ready func() (*callRuntime, error)
	mu    sync.Mutex
	ran   *callRuntime // set once ready has made it

	reached   sync.Mutex          // held while a network is made, which may take programs their time
	networks  map[string]*network // by name; made at the first call that takes one
	authority *egress.Authority   // made with the first that ends TLS
}

// callRuntime holds the parts of a host that calls need.
type callRuntime struct {
	isolation  *isolation.Isolation
	supervisor *supervise.Supervisor
	audit      *auditor
}

// Open makes a host.
func Open(o Options) (*Host, error) {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	dir := o.PluginDir
	if dir == "" {
		var err error
		if dir, err = bundledPlugins(); err != nil {
			return nil, err
		}
	}
	h := &Host{config: o.Config, pluginDir: dir, logger: o.Logger, selfTest: o.SelfTest,
		builtin: o.Builtin, hooks: o.Hooks, approvals: o.Approvals, observe: o.Observe, tracer: o.Tracer, witness: o.Witness,
		shares: o.Shares}
	if h.shares == nil {
		h.shares = &quota.Ledger{}
	}
	h.stops.home = o.Config.Home().Path
	if !o.Config.Home().Fallback {
		h.store = store.Open(o.Config.Home().Path)
	}
	first, err := h.load()
	if err != nil {
		return nil, err
	}
	h.seen.Store(first)
	h.ready = sync.OnceValues(h.prepare)
	return h, nil
}

// bundledPlugins is the directory beside the binary that runs.
func bundledPlugins() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find picoclaw's own binary: %w", err)
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		return "", fmt.Errorf("find picoclaw's own binary: %w", err)
	}
	return filepath.Join(filepath.Dir(exe), "plugins"), nil
}

// Ready makes what calls need: the isolation layer, checked against this machine, and the audit log. Calls do it by
// themselves; a server does it first, to fail before it serves.
func (h *Host) Ready() error {
	_, err := h.ready()
	return err
}

func (h *Host) prepare() (*callRuntime, error) {
	home := h.config.Home().Path
	m := &callRuntime{}
	agent, err := h.config.Agent("")
	if err != nil {
		return nil, &StartError{err}
	}
	m.isolation, err = isolation.Configure(isolation.Config{
		Enabled:     h.config.IsolationEnabled(),
		Home:        home,
		ExposePaths: agent.Isolation.ExposePaths, // the same for all agents
		Groups:      true,
	}, h.logger.Named("isolation"))
	if err != nil {
		return nil, &StartError{err}
	}
	if err := h.tested(m.isolation, agent.Isolation.Network && agent.Network == nil); err != nil {
		return nil, errors.Join(&StartError{err}, m.isolation.Close())
	}
	if err := h.prepareHome(home); err != nil {
		return nil, errors.Join(&StartError{err}, m.isolation.Close())
	}
	if m.audit, err = openAudit(h.config, h.logger, h.witness); err != nil {
		return nil, errors.Join(&StartError{err}, m.isolation.Close())
	}
	plugins := supervise.Options{
		Isolation: m.isolation,
		RunDir:    filepath.Join(home, "run"),
		CrashDir:  CrashDir(home),
		CacheDir:  filepath.Join(home, "cache"),
		Logger:    h.logger,
	}
	if h.tracer != nil {
		plugins.OnStart, plugins.OnEnd = h.tracer.PluginStarted, h.tracer.PluginEnded
	}
	m.supervisor, err = supervise.New(plugins)
	if err != nil {
		return nil, errors.Join(&StartError{err}, m.audit.Close(), m.isolation.Close())
	}
	h.mu.Lock()
	h.ran = m
	h.mu.Unlock()
	h.stops.watch(func(stopped halt.Stopped, lowSpace bool) {
		m.supervisor.KillUnwanted(func(spec *supervise.Spec) bool {
			return stopped.For(spec.Policy.Agent) == nil && !(lowSpace && spec.Policy.Grants.Exec)
		})
	})
	return m, nil
}

// prepareHome makes the files of a home that count as tampered with when they are missing later.
func (h *Host) prepareHome(home string) error {
	if h.store == nil {
		return nil
	}
	if err := halt.Prepare(home); err != nil {
		return err
	}
	return h.store.Prepare()
}

// StartError is the error of a host that can't make calls on this machine or with this configuration.
type StartError struct{ err error }

func (e *StartError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *StartError) Unwrap() error { return e.err }

// CheckExposed says why isolation.expose_paths would keep this host from making calls: a *isolation.ConfigError.
func (h *Host) CheckExposed() error {
	agent, err := h.config.Agent("")
	if err != nil || !h.config.IsolationEnabled() {
		return err
	}
	return isolation.CheckExposed(agent.Isolation.ExposePaths)
}

// Config returns the configuration.
func (h *Host) Config() *config.Config { return h.config }

// Close stops all plugins. Calls under way get a few seconds to finish.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	m := h.ran
	h.mu.Unlock()
	h.stops.close()
	if m == nil {
		return nil
	}
	err := errors.Join(m.supervisor.Close(ctx), m.isolation.Close())
	h.reached.Lock()
	for _, n := range h.networks {
		n.log.flush()
	}
	h.reached.Unlock()
	return errors.Join(err, m.audit.Close())
}
