// Package session combines configuration, policy, plugins and the audit log behind one entry point.
//
// A [Host] owns them. A [Session] is one agent's connection to the host, and [Session.Call] is the only way to call a
// tool, for the command line, MCP clients, scheduled tasks and subagents alike. It decodes a call once, checks it with
// the guard, sends it to its plugin, limits the result and logs it.
//
// A plugin with the state grant has its own directory for each agent, <home>/state/<plugin>/<agent>. Plugins with the
// takeback grant share the undo store, <home>/state/takeback/<agent>. Sandboxes can write to no other directory of the
// home, and agents never share an instance that has one.
//
// Each package below has one task: config reads the configuration, policy resolves it for an agent, catalog lists the
// installed plugins, supervise runs them, audit writes the log. This package must not depend on how they work, nor on
// its importers: MCP, agents, hooks, schedules, console, gateway and fleet.
package session

import (
	"cmp"
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
	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/statefiles"
	"github.com/picoclaw/picoclaw/isolation"
)

// HostOptions configure a [Host].
type HostOptions struct {
	Config *config.Config
	// PluginDir is the directory of bundled plugins; empty for "plugins" next to the binary.
	PluginDir string
	Logger    hclog.Logger
	// SelfTest is the command that attacks a sandbox from inside (see isolation/selftest). It runs once per machine,
	// and calls are refused if the sandbox fails it. Without it the sandbox is not tested.
	SelfTest []string
	// Builtin are the tools the host serves itself.
	Builtin []BuiltinPlugin
	// Hooks decide on calls; nil for none.
	Hooks Hooks
	// Approvals answer for clients that can't ask a person; nil for none.
	Approvals ApprovalQueue
	// QuotaLedger counts the agents' use of several hosts together; nil counts this host's alone.
	QuotaLedger *quota.UsageLedger
	// OnCallEnd, if not nil, receives each call and its result before the caller does.
	OnCallEnd func(audit.Record, *Result)
	// Witness, if not nil, receives notes about the audit log's length, in addition to the configured witness: see
	// [audit.WitnessOptions].
	Witness func(ctx context.Context, note []byte) error
	// Tracer traces calls and their steps. Its methods never block.
	Tracer Tracer
}

// Host owns the configuration, the plugin processes and the audit log. It may be used concurrently. OpenHost starts
// nothing: the isolation layer and plugins start at the first call.
type Host struct {
	options HostOptions
	logger  hclog.Logger
	store   *store.Store // nil without a home
	stops   stopWatcher
	shares  *quota.UsageLedger

	pluginView atomic.Pointer[pluginSnapshot] // current plugins
	reloadMu   sync.Mutex                     // held while plugins are reloaded
	withdrawn  withdrawnTools                 // tools their plugins no longer offer

	initRuntime func() (*callDependencies, error)
	mu          sync.Mutex
	runtime     *callDependencies // set by initRuntime

	networkMu sync.Mutex                   // held while a network is created, which may run programs
	networks  map[string]*sandboxNetwork   // by name; created on first use
	authority *egress.CertificateAuthority // created with the first network that terminates TLS
}

// callDependencies holds the parts of a host that calls need.
type callDependencies struct {
	isolation  *isolation.Starter
	supervisor *supervise.Supervisor
	audit      *auditWriter
}

// OpenHost reads the plugins and returns a host. It starts no processes.
func OpenHost(o HostOptions) (*Host, error) {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.PluginDir == "" {
		var err error
		if o.PluginDir, err = bundledPluginDir(); err != nil {
			return nil, err
		}
	}
	h := &Host{options: o, logger: o.Logger, shares: cmp.Or(o.QuotaLedger, &quota.UsageLedger{}), networks: map[string]*sandboxNetwork{}}
	h.stops.home, h.stops.work, h.withdrawn.tools = o.Config.Home().Path, map[*stoppableWork]bool{}, map[string]bool{}
	if !o.Config.Home().Fallback {
		h.store = store.NewStore(o.Config.Home().Path)
	}
	first, err := h.loadPlugins()
	if err != nil {
		return nil, err
	}
	h.pluginView.Store(first)
	h.initRuntime = sync.OnceValues(h.newCallRuntime)
	return h, nil
}

// bundledPluginDir returns the plugin directory next to the running binary.
func bundledPluginDir() (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("find picoclaw's own binary: %w", err)
	}
	if exe, err = filepath.EvalSymlinks(exe); err != nil {
		return "", fmt.Errorf("find picoclaw's own binary: %w", err)
	}
	return filepath.Join(filepath.Dir(exe), "plugins"), nil
}

// PrepareForCalls tests the isolation layer and opens the audit log, as the first tool call otherwise does. A server
// calls it to fail before it accepts clients.
func (h *Host) PrepareForCalls() error {
	_, err := h.initRuntime()
	return err
}

func (h *Host) newCallRuntime() (*callDependencies, error) {
	home := h.options.Config.Home().Path
	m := &callDependencies{}
	agent, err := h.options.Config.ResolveAgent("")
	if err != nil {
		return nil, &HostStartError{err}
	}
	m.isolation, err = isolation.NewStarter(isolation.Config{
		Enabled:     h.options.Config.IsolationEnabled(),
		Home:        home,
		ExposePaths: agent.Isolation.ExposePaths, // same for all agents
		UseCgroups:  true,
	}, h.logger.Named("isolation"))
	if err != nil {
		return nil, &HostStartError{err}
	}
	if err = h.runSandboxSelfTest(m.isolation, agent.Isolation.Network && agent.Network == nil); err != nil {
		return nil, errors.Join(&HostStartError{err}, m.isolation.Close())
	}
	if err = h.createStateFiles(home); err != nil {
		return nil, errors.Join(&HostStartError{err}, m.isolation.Close())
	}
	if m.audit, err = openAuditWriter(h.options.Config, h.logger, h.options.Witness); err != nil {
		return nil, errors.Join(&HostStartError{err}, m.isolation.Close())
	}
	if h.stops.host, err = killswitch.RegisterHost(home); err != nil {
		return nil, errors.Join(&HostStartError{fmt.Errorf("register for the kill switch: %w", err)}, m.audit.Close(), m.isolation.Close())
	}
	plugins := supervise.Options{
		Isolation: m.isolation,
		RunDir:    filepath.Join(home, "run"),
		CrashDir:  CrashReportDir(home),
		CacheDir:  filepath.Join(home, "cache"),
		Logger:    h.logger,
	}
	if h.options.Tracer != nil {
		plugins.OnStart, plugins.OnEnd = h.options.Tracer.PluginStarted, h.options.Tracer.PluginEnded
	}
	m.supervisor, err = supervise.New(plugins)
	if err != nil {
		return nil, errors.Join(&HostStartError{err}, h.stops.host.Close(), m.audit.Close(), m.isolation.Close())
	}
	h.mu.Lock()
	h.runtime = m
	h.mu.Unlock()
	h.stops.watchStops(func(stopped killswitch.StopsByAgent, lowSpace bool) {
		m.supervisor.KillUnwanted(func(spec *supervise.InstanceSpec) bool {
			return stopped.StopOfAgent(spec.Policy.Agent) == nil && !(lowSpace && spec.Policy.Grants.Exec)
		})
	})
	return m, nil
}

// createStateFiles creates the files of the home, such as the lock file, whose later absence counts as tampering.
func (h *Host) createStateFiles(home string) error {
	if h.store == nil {
		return nil
	}
	if err := killswitch.CreateStopFile(home); err != nil {
		return err
	}
	if file := h.options.Config.FilePath(); file != "" {
		if err := statefiles.AddToList(home, file); err != nil {
			return err
		}
	}
	return h.store.CreateLockFile()
}

// HostStartError says that this machine or configuration prevents the host from making calls.
type HostStartError struct{ err error }

func (e *HostStartError) Error() string { return e.err.Error() }

// Unwrap returns the cause.
func (e *HostStartError) Unwrap() error { return e.err }

// CheckExposedPaths returns an *isolation.ConfigError if isolation.expose_paths prevents calls.
func (h *Host) CheckExposedPaths() error {
	agent, err := h.options.Config.ResolveAgent("")
	if err != nil || !h.options.Config.IsolationEnabled() {
		return err
	}
	return isolation.ValidateExposedPaths(agent.Isolation.ExposePaths)
}

// Config returns the configuration.
func (h *Host) Config() *config.Config { return h.options.Config }

// Close stops all plugins. Running calls get a few seconds to finish.
func (h *Host) Close(ctx context.Context) error {
	h.mu.Lock()
	m := h.runtime
	h.mu.Unlock()
	h.stops.stopWatching()
	if m == nil {
		return nil
	}
	err := errors.Join(m.supervisor.Close(ctx), m.isolation.Close())
	h.networkMu.Lock()
	for _, n := range h.networks {
		n.log.flushTallies()
	}
	h.networkMu.Unlock()
	return errors.Join(err, h.stops.host.Close(), m.audit.Close())
}
