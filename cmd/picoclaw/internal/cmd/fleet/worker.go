package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/membership"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/fleet/bundle"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/fleet/witness"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/session"
)

// WorkerOptions are the options of `picoclaw worker`.
type WorkerOptions struct{ membership.FleetFlags }

func NewCmdWorker(f *cli.Factory, runF func(*WorkerOptions) error) *cobra.Command {
	o := &WorkerOptions{membership.FleetFlags{Factory: f}}
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Serve this machine's agents to a fleet",
	}
	o.AddFlags(cmd, memberFlagDoc)
	cmd.Flags().StringVar(&o.Name, "name", "",
		"worker `name` without an identity file (default: fleet.name, or the machine's)")
	return cli.SetRunContext(cmd, o, (*WorkerOptions).runWorker, runF)
}

// runningWorker is a worker that serves its agents.
type runningWorker struct {
	fleet  *WorkerOptions
	member *membership.FleetMembership
	logger hclog.Logger
	home   string

	worker   *fleet.Worker
	changes  chan struct{} // an agent's tools may have changed
	trusts   chan struct{} // the trusted keys have changed
	reloadMu sync.Mutex    // serializes reloads
	current  *workerRuntime
	closing  sync.WaitGroup // runtimes that are closing
}

// workerRuntime is the part of a worker that runs calls with one version of the configuration.
type workerRuntime struct {
	app          *cli.Factory
	all          *host.Runtime // for calls of gateway clients
	cli          *host.Runtime // for picoclaw call, without built-in tools
	file         string        // configuration file
	agents       []string
	trust        []string // keys that may sign fleet configurations
	stopWatching context.CancelFunc
}

func (o *WorkerOptions) runWorker(ctx context.Context) error {
	cfg, err := o.LoadConfig("")
	if err != nil {
		return err
	}
	if cfg.Home().Fallback {
		return cli.StartError(errors.New("a worker needs a home; set PICOCLAW_HOME to a directory"))
	}
	w := &runningWorker{fleet: o, home: cfg.Home().Path, changes: make(chan struct{}, 1), trusts: make(chan struct{}, 1)}
	if w.logger, err = o.NewLogger(cfg); err != nil {
		return err
	}
	o.Wait = func(err error) { fmt.Fprintf(o.Err, "the worker waits until it reaches its fleet: %v\n", err) }
	if w.member, err = o.JoinFleet(ctx, cfg, workerName(cfg), identity.Worker); err != nil {
		if ctx.Err() != nil {
			return nil // it was told to end before there was a fleet
		}
		return err
	}
	defer w.member.Close()
	if w.current, err = w.openConfig(cfg); err != nil {
		return err
	}
	defer func() {
		w.reloadMu.Lock()
		defer w.reloadMu.Unlock()
		w.current.closeHosts()
		w.closing.Wait()
	}()
	return w.serveAgents(ctx, cfg)
}

func (w *runningWorker) serveAgents(ctx context.Context, cfg *config.Config) error {
	stderr, logger := w.fleet.Err, w.logger.Named("worker")
	var err error
	w.worker, err = fleet.NewWorker(w.member.Fleet, fleet.WorkerOptions{
		Name: w.member.Name, Agents: w.current.agents, Home: w.home,
		Host: w.current, Describe: func(s *session.Session) string { return mcp.ModelInstructions(s.Policy()) }, Workspace: w.movableWorkspace,
		Idle:    func() { fmt.Fprintf(stderr, "the worker %s is in the fleet, and has no agent yet\n", w.member.Name) },
		Changes: w.changes, Version: w.fleet.Version, Logger: logger, Drain: time.Duration(cfg.Gateway().DrainSeconds) * time.Second})
	if err != nil {
		return cli.StartError(err)
	}
	ctx, cancel := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel()
	background.Go(func() { w.reloadOnHangup(ctx) })
	if w.member.Id != nil {
		background.Go(func() { w.followFleetConfig(ctx) })
	}
	return cli.StartError(w.worker.Run(ctx, func(agent string) {
		fmt.Fprintf(stderr, "the worker %s serves agent %s\n", w.member.Name, agent)
	}))
}

// openConfig opens the hosts for a configuration.
func (w *runningWorker) openConfig(cfg *config.Config) (*workerRuntime, error) {
	s := &workerRuntime{app: w.fleet.Factory, file: cfg.FilePath(), agents: cfg.AgentIDs(), trust: cfg.Fleet().Trust}
	var options host.Options
	if id := w.member.Id; id != nil {
		var err error
		if options.Witness, err = witness.Teller(w.member.Connection, w.member.Tenant, w.member.Name); err != nil {
			return nil, err
		}
		s.agents = slices.DeleteFunc(s.agents, func(agent string) bool { return !slices.Contains(id.Agents, agent) })
		if len(s.agents) == 0 {
			return nil, cli.StartError(fmt.Errorf("the identity of %s is for %s, and the configuration has %s: no agent is served",
				id.Name, strings.Join(id.Agents, ", "), strings.Join(cfg.AgentIDs(), ", ")))
		}
		for _, agent := range cfg.AgentIDs() {
			if !slices.Contains(s.agents, agent) {
				w.logger.Warn("the worker's identity is not for an agent, which is not served", "agent", agent)
			}
		}
	}
	var err error
	if s.all, err = hosts.OpenHostWithOptions(s.app, cfg, options); err != nil {
		return nil, err
	}
	if err = s.all.PrepareForCalls(); err == nil {
		options.NoBuiltIns = true
		s.cli, err = hosts.OpenHostWithOptions(s.app, cfg, options)
	}
	if err != nil {
		hosts.CloseHost(s.app, s.all)
		return nil, cli.StartError(err)
	}
	ctx, stopWatching := context.WithCancel(context.Background())
	s.stopWatching = stopWatching
	go func() {
		changes := s.all.WatchPluginChanges(ctx.Done())
		for {
			select {
			case <-ctx.Done():
				return
			case <-changes:
				select {
				case w.changes <- struct{}{}:
				default: // one is waiting already
				}
			}
		}
	}()
	return s, nil
}

// OpenSession opens a session for a call from the fleet.
func (s *workerRuntime) OpenSession(agent string, origin session.Origin) (*session.Session, error) {
	switch origin {
	case session.MCP:
		return s.all.OpenSession(agent, origin)
	case session.CLI:
		return s.cli.OpenSession(agent, origin)
	}
	return nil, fmt.Errorf("a call of origin %q can't come from another machine", origin)
}

func (s *workerRuntime) closeHosts() {
	s.stopWatching()
	hosts.CloseHost(s.app, s.cli)
	hosts.CloseHost(s.app, s.all)
}

// movableWorkspace returns an agent's workspace if it can be moved.
func (w *runningWorker) movableWorkspace(agent string) (string, error) {
	w.reloadMu.Lock()
	defer w.reloadMu.Unlock()
	return w.current.all.MovableWorkspacePath(agent)
}

// reloadConfig makes new calls use the current configuration. Running ones keep theirs.
func (w *runningWorker) reloadConfig() error {
	w.reloadMu.Lock()
	defer w.reloadMu.Unlock()
	cfg, err := w.fleet.ReloadConfig(w.current.file)
	if err != nil {
		return err
	}
	next, err := w.openConfig(cfg)
	if err != nil {
		return err
	}
	previous := w.current
	w.current = next
	if !slices.Equal(previous.trust, next.trust) {
		select {
		case w.trusts <- struct{}{}:
		default: // it is to be looked at already
		}
	}
	waitForCalls := w.worker.Renew(next, next.agents)
	w.closing.Go(func() {
		waitForCalls()
		previous.closeHosts()
	})
	return nil
}

// reloadOnHangup reloads the configuration at SIGHUP.
func (w *runningWorker) reloadOnHangup(ctx context.Context) {
	hangups := make(chan os.Signal, 1)
	if on := cli.ReloadSignals(); len(on) > 0 {
		signal.Notify(hangups, on...)
		defer signal.Stop(hangups)
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
			if err := w.reloadConfig(); err != nil {
				w.logger.Error("the configuration was not loaded again; the one before stays in force", "error", err)
			} else {
				w.logger.Info("the configuration was loaded again")
			}
		}
	}
}

// workerName returns the configured name of a worker, or one derived from the host name.
func workerName(cfg *config.Config) string {
	if name := cfg.Fleet().Name; name != "" {
		return name
	}
	machine, err := os.Hostname()
	if err != nil {
		return "worker"
	}
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '-'
	}, strings.ToLower(machine))
}

// watchRetryPause is the pause before watching the fleet's configurations again after an error.
const watchRetryPause = 10 * time.Second

// followFleetConfig applies the fleet's configurations that are signed with a currently trusted key.
func (w *runningWorker) followFleetConfig(ctx context.Context) {
	if serial, err := bundle.Current(w.home); err == nil {
		w.worker.SetConfig(serial, nil)
	}
	for ctx.Err() == nil {
		w.applySignedConfigs(ctx)
	}
}

// applySignedConfigs applies the fleet's configurations signed with a trusted key, until the trusted keys change.
func (w *runningWorker) applySignedConfigs(ctx context.Context) {
	logger := w.logger.Named("worker")
	ctx, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	background.Go(func() {
		select {
		case <-ctx.Done():
		case <-w.trusts:
			stop()
		}
	})
	w.reloadMu.Lock()
	trust := w.current.trust
	w.reloadMu.Unlock()
	err := bundle.Watch(ctx, w.member.Connection, bundle.Options{Tenant: w.member.Tenant, Trust: trust,
		Home: w.home, Config: config.LoadOptions{File: w.fleet.ConfigFile, Workspace: w.fleet.Workspace},
		Apply: func(uint64) error { return w.reloadConfig() }, Report: func(serial uint64, err error) {
			w.worker.SetConfig(serial, err)
			if err != nil {
				logger.Error("a configuration of the fleet's", "number", serial, "error", err)
			} else {
				logger.Info("the worker has a configuration of the fleet's", "number", serial)
			}
		}})
	var retry <-chan time.Time // never where no key is trusted
	if err != nil && ctx.Err() == nil {
		logger.Error("the worker takes no configuration of the fleet's yet", "error", err)
		retry = time.After(watchRetryPause)
	}
	select {
	case <-ctx.Done():
	case <-retry:
	}
}
