package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	web "github.com/picoclaw/picoclaw/host/console"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/gateway"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/host/share"
)

// gatewayOptions is `picoclaw gateway`.
type gatewayOptions struct {
	*app
	host string
	port int

	fleet    fleetFlags
	newest   atomic.Pointer[member] // of the fleet
	lost     func(error)            // ends the gateway
	options  host.Options
	console  *web.Console // nil for none
	operator host.Operator
}

func newGateway(a *app, runF func(*gatewayOptions) error) *cobra.Command {
	o := &gatewayOptions{app: a, port: -1, fleet: fleetFlags{app: a}}
	cmd := &cobra.Command{
		Use:        "gateway",
		SuggestFor: []string{"daemon", "serve"},
		Short:      "Run agents' schedules, and serve all agents over MCP, until told to stop",
		Long: `Runs in the foreground as the one daemon of its instance root: heartbeats and jobs of all agents, and HTTP at
gateway.host and gateway.port. /health says that it lives, /ready whether calls can be made and what is missing, /metrics
what it counts. MCP for the first agent is at /mcp, for another at /mcp/AGENT; a client sends the agent's token, which
picoclaw gateway token shows, as its bearer token.

SIGTERM and SIGINT end it: nobody new is let in, and what runs may go on for gateway.drain_seconds. SIGHUP has it read its
configuration again, as picoclaw gateway reload does: what has begun keeps its policy until it ends, and a configuration
with a mistake changes nothing.

With --fleet it serves the agents of a fleet, and has no schedule: each call is carried to the worker that has the agent,
which decides on it. A client's roots do not narrow it: its directories are not on that machine.`,
		Example: "  picoclaw gateway\n  picoclaw gateway --port 0 --log-level info\n  picoclaw gateway --fleet tls://nats.example.com:4222",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.fleet.flags(cmd, "serve the agents of the fleet at this `address`, or that of an identity file")
	cmd.Flags().StringVar(&o.host, "host", "", "serve at this `address` (default: gateway.host)")
	cmd.Flags().IntVar(&o.port, "port", -1, "serve at this `port`, 0 for any (default: gateway.port)")
	cmd.AddCommand(newGatewayStatus(a, nil), newGatewayReload(a, nil), newGatewayToken(a, nil))
	return newCommand(cmd, o, runF)
}

// tokenFile is where an agent's token is kept.
func tokenFile(home, agent string) string { return filepath.Join(home, "tokens", agent) }

// agentToken returns an agent's token, which is made if there is none.
func agentToken(home, agent string) (string, error) {
	file := tokenFile(home, agent)
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return "", err
	}
	return keptToken(file)
}

func (o *gatewayOptions) run(ctx context.Context) error {
	cfg, err := o.app.config("")
	if err != nil {
		return err
	}
	home := cfg.Home()
	if home.Fallback {
		return cantStart(errors.New("a gateway needs an instance root; set PICOCLAW_HOME to a directory"))
	}
	if err := os.MkdirAll(home.Path, 0o700); err != nil {
		return cantStart(err)
	}
	logger, err := o.app.logger(cfg)
	if err != nil {
		return err
	}
	settings := cfg.Gateway()
	address := net.JoinHostPort(settings.Host, strconv.FormatInt(settings.Port, 10))
	if o.host != "" {
		address = net.JoinHostPort(o.host, strconv.FormatInt(settings.Port, 10))
	}
	if o.port >= 0 {
		name, _, _ := net.SplitHostPort(address)
		address = net.JoinHostPort(name, strconv.Itoa(o.port))
	}
	if hostName, _, err := net.SplitHostPort(address); err == nil && !loopback(hostName) {
		if settings.Console {
			return cantStart(fmt.Errorf("the console is for this machine alone, and %s is an address that others reach: leave "+
				"gateway.host at localhost, or gateway.console off; from elsewhere `ssh -L` leads to it", address))
		}
		logger.Warn("other machines can reach the gateway, and nothing that they send is encrypted", "address", address)
	}
	drain := time.Duration(settings.DrainSeconds) * time.Second
	told, err := host.NewTelemetry(cfg, o.version, true, logger)
	if err != nil {
		return cantStart(err)
	}
	defer told.Close(context.WithoutCancel(ctx))
	o.options = host.Options{Schedules: &host.Schedules{}, Shares: &share.Ledger{}, Grace: drain,
		Telemetry: told}
	options := gateway.Options{
		Home: home.Path, Address: address, Version: o.version, Logger: logger.Named("gateway"),
		Drain: drain, Open: o.open, Metrics: told,
		Addressed: func(hostName string) bool { return mcp.AddressedTo(hostName, settings.AllowHosts) },
	}
	if settings.Console {
		o.console = web.New(web.Options{Home: home.Path, Log: session.AuditFile(home.Path), Operator: &o.operator,
			Instance: &o.operator, Version: o.version, Logger: logger.Named("console")})
		options.Console = o.console
		go o.console.Run(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lost := make(chan error, 1)
	o.lost = func(err error) {
		if ctx.Err() != nil { // it ends, and its connections with it
			return
		}
		select {
		case lost <- err:
		default: // one says it
		}
		cancel()
	}
	g := gateway.New(options)
	go o.reloads(ctx, g, cfg)
	err = g.Run(ctx, func(address string) {
		fmt.Fprintf(o.app.stderr, "the gateway serves at %s\n", address)
	})
	select {
	case why := <-lost:
		err = errors.Join(why, err)
	default:
	}
	if err != nil {
		return cantStart(err)
	}
	return nil
}

// loopback reports whether an address is of this machine alone.
func loopback(hostName string) bool {
	ip, err := netip.ParseAddr(hostName)
	return hostName == "localhost" || err == nil && ip.IsLoopback()
}

// open makes an instance of the configuration as it is now. One that can't make calls is none.
func (o *gatewayOptions) open() (gateway.Instance, error) {
	cfg, err := o.app.config("")
	if err != nil {
		return nil, err
	}
	if o.fleet.address != "" {
		return o.openRemote(cfg)
	}
	with := o.options
	if o.console != nil {
		with.Observe = func(r audit.Record, result *session.Result) { o.console.Keep(r, host.Answer(result)) }
	}
	all, err := o.app.assemble(cfg, with)
	if err != nil {
		return nil, err
	}
	if err := all.Ready(); err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		return nil, errors.Join(err, all.Close(ctx))
	}
	o.operator.Work(all)
	return all, nil
}

// openRemote makes an instance that serves a fleet's agents.
func (o *gatewayOptions) openRemote(cfg *config.Config) (gateway.Instance, error) {
	logger, err := o.app.logger(cfg)
	if err != nil {
		return nil, err
	}
	f, err := o.fleet.join(context.Background(), cfg, "gateway-"+strings.ToLower(rand.Text()[:8]))
	if err != nil {
		return nil, err
	}
	if err := f.needs(identity.Gateway, identity.Admin); err != nil {
		f.Close()
		return nil, cantStart(err)
	}
	remote, err := host.OpenRemote(host.RemoteOptions{Fleet: f.Fleet, Config: cfg, Version: o.version,
		Logger: logger.Named("gateway"),
		Token:  func(agent string) (string, error) { return agentToken(cfg.Home().Path, agent) }})
	if err != nil {
		f.Close()
		return nil, err
	}
	o.newest.Store(f)
	closed := func(*nats.Conn) {
		if o.newest.Load() == f { // or another configuration has another one
			o.lost(f.shut())
		}
	}
	f.connection.SetClosedHandler(closed)
	if f.connection.IsClosed() { // before that
		closed(f.connection)
	}
	return remote, nil
}

// reloadInterval is how often a configuration file is looked at with gateway.hot_reload.
const reloadInterval = 2 * time.Second

// reloads has the gateway read its configuration again at SIGHUP and, if that is asked for, when the file has changed.
// What does not work is logged, and changes nothing.
func (o *gatewayOptions) reloads(ctx context.Context, g *gateway.Gateway, cfg *config.Config) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, hangupSignals()...)
	defer signal.Stop(hangups)
	var ticks <-chan time.Time
	if cfg.Gateway().HotReload && cfg.File() != "" {
		tick := time.NewTicker(reloadInterval)
		defer tick.Stop()
		ticks = tick.C
	}
	seen, _ := os.Stat(cfg.File())
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		case <-ticks:
			now, err := os.Stat(cfg.File())
			if err != nil || seen != nil && os.SameFile(seen, now) && now.ModTime().Equal(seen.ModTime()) &&
				now.Size() == seen.Size() {
				continue
			}
			seen = now
		}
		_ = g.Reload() // it logs what is wrong
	}
}

// gatewayTokenOptions are the options of `picoclaw gateway token`.
type gatewayTokenOptions struct {
	*app

	agent   string
	ofFleet bool
}

func newGatewayToken(a *app, runF func(*gatewayTokenOptions) error) *cobra.Command {
	o := &gatewayTokenOptions{app: a}

	cmd := &cobra.Command{
		Use:     "token",
		Short:   "Show the token that MCP clients of an agent send to the gateway",
		Long:    "Shows an agent's token, which is made if there is none. It is kept in a file of tokens below the instance root; a new one\nis made when that is removed and the gateway started again.",
		Example: "  picoclaw gateway token\n  picoclaw gateway token --agent reader",
		Args:    noArguments,
		RunE:    func(*cobra.Command, []string) error { return o.run() },
	}
	a.agentFlag(cmd, &o.agent, "the agent (default: the first one)")
	cmd.Flags().BoolVar(&o.ofFleet, "fleet", false, "the agent is one of a fleet's, which this configuration need not have")
	return newCommand(cmd, o, runF)
}

func (o *gatewayTokenOptions) run() error {
	cfg, err := o.config("")
	if err != nil {
		return err
	}
	if o.agent == "" || !o.ofFleet {
		of, err := cfg.Agent(o.agent)
		if err != nil {
			return usage("%w", err)
		}
		o.agent = of.ID
	} else if !config.IsID(o.agent) {
		return usage("%q is no agent's id", o.agent)
	}
	token, err := agentToken(cfg.Home().Path, o.agent)
	if err != nil {
		return failed(err)
	}
	fmt.Fprintln(o.stdout, token)
	return nil
}
