// Package gateway has the command gateway.
package gateway

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/picoclaw/picoclaw/cmd/internal/cli"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/hosts"
	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/membership"
	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/config"
	web "github.com/picoclaw/picoclaw/host/console"
	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/host/gateway"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/host/session"
)

// Options are the options of `picoclaw gateway`.
type Options struct {
	*cli.Factory
	host string
	port int

	fleet    membership.Flags
	file     string                            // of the last configuration that was read
	newest   atomic.Pointer[membership.Member] // of the fleet
	lost     func(error)                       // ends the gateway
	options  host.Options
	console  *web.Console // nil for none
	operator host.Operator
}

func NewCmdGateway(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f, port: -1, fleet: membership.Flags{Factory: f}}
	cmd := &cobra.Command{
		Use:        "gateway",
		SuggestFor: []string{"daemon", "serve"},
		Short:      "Run scheduled jobs, and serve all agents over MCP",
		Long: `Run the daemon of this home in the foreground: heartbeats and jobs of all agents, and HTTP at gateway.host and
gateway.port. /health reports liveness, /ready whether calls can be made, /metrics metrics. /mcp serves the first agent
over MCP, /mcp/AGENT another one; clients send the agent's token (picoclaw gateway token) as a bearer token.

SIGTERM and SIGINT stop it: new calls are refused, and running ones may continue for gateway.drain_seconds. SIGHUP reloads
the configuration like picoclaw gateway reload: running work keeps its policy, and an invalid configuration changes nothing.

With --fleet, serve the agents of a fleet, without schedules: each call goes to the agent's worker, which decides on it.
MCP roots do not narrow such sessions, since the directories are on other machines.`,
		Example: "  picoclaw gateway\n  picoclaw gateway --port 0 --log-level info\n  picoclaw gateway --fleet tls://nats.example.com:4222",
		Args:    cli.NoArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return o.run(cmd.Context()) },
	}
	o.fleet.AddTo(cmd, "serve a fleet's agents: NATS `address` or identity file")
	cmd.Flags().StringVar(&o.host, "host", "", "serve at this `address` (default: gateway.host)")
	cmd.Flags().IntVar(&o.port, "port", -1, "serve at this `port`, 0 for any (default: gateway.port)")
	cmd.AddCommand(NewCmdStatus(f, nil), NewCmdReload(f, nil), NewCmdToken(f, nil))
	return cli.NewCommand(cmd, o, runF)
}

func (o *Options) run(ctx context.Context) error {
	cfg, err := o.Config("")
	if err != nil {
		return err
	}
	home := cfg.Home()
	if home.Fallback {
		return cli.CannotStart(errors.New("a gateway needs a home; set PICOCLAW_HOME to a directory"))
	}
	if err = os.MkdirAll(home.Path, 0o700); err != nil {
		return cli.CannotStart(err)
	}
	logger, err := o.Logger(cfg)
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
	if hostName, _, invalid := net.SplitHostPort(address); invalid == nil && !loopback(hostName) {
		if settings.Console {
			return cli.CannotStart(fmt.Errorf("the console is for this machine alone, and %s is an address that others reach: leave "+
				"gateway.host at localhost, or gateway.console off; from elsewhere `ssh -L` leads to it", address))
		}
		logger.Warn("other machines can reach the gateway, and nothing that they send is encrypted", "address", address)
	}
	drain := time.Duration(settings.DrainSeconds) * time.Second
	told, err := host.NewTelemetry(cfg, o.Version, true, logger)
	if err != nil {
		return cli.CannotStart(err)
	}
	defer told.Close(context.WithoutCancel(ctx))
	o.options = host.Options{Schedules: &host.Schedules{}, Shares: &quota.Ledger{}, Grace: drain,
		Telemetry: told}
	options := gateway.Options{
		Home: home.Path, Address: address, Version: o.Version, Logger: logger.Named("gateway"),
		DrainTimeout: drain, OpenInstance: o.open, Metrics: told,
		IsOwnHost: func(hostName string) bool { return mcp.AllowedHost(hostName, settings.AllowHosts) },
	}
	if settings.Console {
		o.console = web.New(web.Options{Home: home.Path, Log: audit.LogFile(home.Path), Operator: &o.operator,
			Instance: &o.operator, Version: o.Version, Logger: logger.Named("console")})
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
		fmt.Fprintf(o.Err, "the gateway serves at %s\n", address)
	})
	select {
	case why := <-lost:
		err = errors.Join(why, err)
	default:
	}
	if err != nil {
		return cli.CannotStart(err)
	}
	return nil
}

// loopback reports whether an address is of this machine alone.
func loopback(hostName string) bool {
	ip, err := netip.ParseAddr(hostName)
	return hostName == "localhost" || err == nil && ip.IsLoopback()
}

// open makes an instance of the configuration as it is now. One that can't make calls is none.
func (o *Options) open() (gateway.Instance, error) {
	cfg, err := o.ConfigAgain(o.file)
	if err != nil {
		return nil, err
	}
	o.file = cfg.File()
	if o.fleet.Address != "" {
		return o.openRemote(cfg)
	}
	with := o.options
	if o.console != nil {
		with.Observe = func(r audit.Record, result *session.Result) { o.console.KeepResult(r, host.ResultText(result)) }
	}
	all, err := hosts.Assemble(o.Factory, cfg, with)
	if err != nil {
		return nil, err
	}
	if err := all.Prepare(); err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), hosts.CloseTimeout)
		defer cancel()
		return nil, errors.Join(err, all.Close(ctx))
	}
	o.operator.SetAssembly(all)
	return all, nil
}

// openRemote makes an instance that serves a fleet's agents.
func (o *Options) openRemote(cfg *config.Config) (gateway.Instance, error) {
	logger, err := o.Logger(cfg)
	if err != nil {
		return nil, err
	}
	f, err := o.fleet.Join(context.Background(), cfg, "gateway-"+strings.ToLower(rand.Text()[:8]))
	if err != nil {
		return nil, err
	}
	if err = f.Require(identity.Gateway, identity.Admin); err != nil {
		f.Close()
		return nil, cli.CannotStart(err)
	}
	remote, err := host.OpenRemote(host.RemoteOptions{Fleet: f.Fleet, Config: cfg, Version: o.Version,
		Logger: logger.Named("gateway"),
		Token:  func(agent string) (string, error) { return hosts.AgentToken(cfg.Home().Path, agent) }})
	if err != nil {
		f.Close()
		return nil, err
	}
	o.newest.Store(f)
	closed := func(*nats.Conn) {
		if o.newest.Load() == f { // or another configuration has another one
			o.lost(f.ExplainClose())
		}
	}
	f.Connection.SetClosedHandler(closed)
	if f.Connection.IsClosed() { // before that
		closed(f.Connection)
	}
	return remote, nil
}

// reloadInterval is how often a configuration file is looked at with gateway.hot_reload.
const reloadInterval = 2 * time.Second

// reloads has the gateway read its configuration again at SIGHUP and, if that is asked for, when the file has changed.
// What does not work is logged, and changes nothing.
func (o *Options) reloads(ctx context.Context, g *gateway.Gateway, cfg *config.Config) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, cli.HangupSignals()...)
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

// TokenOptions are the options of `picoclaw gateway token`.
type TokenOptions struct {
	*cli.Factory
	agent   string
	ofFleet bool
}

func NewCmdToken(f *cli.Factory, runF func(*TokenOptions) error) *cobra.Command {
	o := &TokenOptions{Factory: f}
	cmd := &cobra.Command{
		Use:     "token",
		Short:   "Show an agent's token for MCP clients",
		Long:    "Show an agent's token; create it if there is none. To replace a token, write another into its file in <home>/tokens\nand restart the gateway.",
		Example: "  picoclaw gateway token\n  picoclaw gateway token --agent reader",
		Args:    cli.NoArguments,
		RunE:    func(*cobra.Command, []string) error { return o.run() },
	}
	f.AddAgentFlag(cmd, &o.agent, "the agent (default: the first one)")
	cmd.Flags().BoolVar(&o.ofFleet, "fleet", false, "token of an agent of the fleet")
	return cli.NewCommand(cmd, o, runF)
}

func (o *TokenOptions) run() error {
	cfg, err := o.Config("")
	if err != nil {
		return err
	}
	if o.agent == "" || !o.ofFleet {
		of, unknown := cfg.ResolveAgent(o.agent)
		if unknown != nil {
			return cli.Usagef("%w", unknown)
		}
		o.agent = of.ID
	} else if !config.IsAgentID(o.agent) {
		return cli.Usagef("%q is no agent's id", o.agent)
	}
	token, err := hosts.AgentToken(cfg.Home().Path, o.agent)
	if err != nil {
		return cli.Fail(err)
	}
	fmt.Fprintln(o.Out, token)
	return nil
}
