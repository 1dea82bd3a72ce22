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

	fleet            membership.FleetFlags
	configFile       string                                     // the last configuration file
	member           atomic.Pointer[membership.FleetMembership] // of the fleet
	onConnectionLost func(error)                                // ends the gateway
	hostOptions      host.Options
	console          *web.Console // nil for none
	operator         host.ConsoleActions
}

func NewCmdGateway(f *cli.Factory, runF func(*Options) error) *cobra.Command {
	o := &Options{Factory: f, port: -1, fleet: membership.FleetFlags{Factory: f}}
	cmd := &cobra.Command{
		Use:        "gateway",
		SuggestFor: []string{"daemon", "serve"},
		Short:      "Run scheduled jobs, and serve all agents over MCP",
	}
	o.fleet.AddFlags(cmd, "serve a fleet's agents: NATS `address` or identity file")
	cmd.Flags().StringVar(&o.host, "host", "", "serve at this `address` (default: gateway.host)")
	cmd.Flags().IntVar(&o.port, "port", -1, "serve at this `port`, 0 for any (default: gateway.port)")
	cmd.AddCommand(NewCmdStatus(f, nil), NewCmdReload(f, nil), NewCmdToken(f, nil))
	return cli.SetRunContext(cmd, o, (*Options).runGateway, runF)
}

func (o *Options) runGateway(ctx context.Context) error {
	if o.port < -1 || o.port > 65535 {
		return cli.UsageErrorf("--port %d: want 0 to 65535", o.port)
	}
	cfg, err := o.LoadConfig("")
	if err != nil {
		return err
	}
	home := cfg.Home()
	if home.Fallback {
		return cli.StartError(errors.New("a gateway needs a home; set PICOCLAW_HOME to a directory"))
	}
	if err = os.MkdirAll(home.Path, 0o700); err != nil {
		return cli.StartError(err)
	}
	logger, err := o.NewLogger(cfg)
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
	if hostName, _, invalid := net.SplitHostPort(address); invalid == nil && !isLoopback(hostName) {
		if settings.Console {
			return cli.StartError(fmt.Errorf("the console is for this machine alone, and %s is an address that others reach: leave "+
				"gateway.host at localhost, or gateway.console off; from elsewhere `ssh -L` leads to it", address))
		}
		logger.Warn("other machines can reach the gateway; traffic is not encrypted", "address", address)
	}
	drain := time.Duration(settings.DrainSeconds) * time.Second
	telemetry, err := host.NewTelemetry(cfg, o.Version, true, logger)
	if err != nil {
		return cli.StartError(err)
	}
	defer telemetry.Close(context.WithoutCancel(ctx))
	o.hostOptions = host.Options{Schedules: &host.AgentSchedulers{}, Shares: &quota.UsageLedger{}, Grace: drain,
		Telemetry: telemetry}
	options := gateway.Options{
		Home: home.Path, Address: address, Version: o.Version, Logger: logger.Named("gateway"),
		DrainTimeout: drain, OpenInstance: o.openRuntime, Metrics: telemetry,
		IsOwnHost: func(hostName string) bool { return mcp.IsAllowedHost(hostName, settings.AllowHosts) },
	}
	if settings.Console {
		o.console = web.New(web.Options{Home: home.Path, Log: audit.LogPath(home.Path), Operator: &o.operator,
			Instance: &o.operator, Version: o.Version, Logger: logger.Named("console")})
		options.Console = o.console
		go o.console.FollowAuditLog(ctx)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	lost := make(chan error, 1)
	o.onConnectionLost = func(err error) {
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
	go o.watchConfig(ctx, g, cfg)
	err = g.Run(ctx, func(address string) {
		fmt.Fprintf(o.Err, "the gateway serves at %s\n", address)
	})
	select {
	case reason := <-lost:
		err = errors.Join(reason, err)
	default:
	}
	return cli.StartError(err)
}

// isLoopback reports whether a host name is a loopback address.
func isLoopback(hostName string) bool {
	ip, err := netip.ParseAddr(hostName)
	return hostName == "localhost" || err == nil && ip.IsLoopback()
}

// openRuntime opens a runtime with the current configuration; with --fleet, one for the fleet's agents.
func (o *Options) openRuntime() (gateway.Runtime, error) {
	cfg, err := o.ReloadConfig(o.configFile)
	if err != nil {
		return nil, err
	}
	o.configFile = cfg.FilePath()
	if o.fleet.Address != "" {
		return o.openFleetRuntime(cfg)
	}
	options := o.hostOptions
	if o.console != nil {
		options.Observe = func(r audit.Record, result *session.Result) { o.console.KeepResult(r, host.ResultText(result)) }
	}
	runtime, err := hosts.OpenHostWithOptions(o.Factory, cfg, options)
	if err != nil {
		return nil, err
	}
	if err := runtime.PrepareForCalls(); err != nil {
		ctx, cancel := context.WithTimeout(context.Background(), hosts.CloseTimeout)
		defer cancel()
		return nil, errors.Join(err, runtime.Close(ctx))
	}
	o.operator.SetRuntime(runtime)
	return runtime, nil
}

// openFleetRuntime opens a runtime that serves the agents of a fleet.
func (o *Options) openFleetRuntime(cfg *config.Config) (gateway.Runtime, error) {
	logger, err := o.NewLogger(cfg)
	if err != nil {
		return nil, err
	}
	f, err := o.fleet.JoinFleet(context.Background(), cfg, "gateway-"+strings.ToLower(rand.Text()[:8]), identity.Gateway, identity.Admin)
	if err != nil {
		return nil, err
	}
	remote, err := host.ServeRemoteAgents(host.RemoteAgentOptions{Fleet: f.Fleet, Config: cfg, Version: o.Version,
		Logger: logger.Named("gateway"),
		Token:  func(agent string) (string, error) { return hosts.ReadOrCreateAgentToken(cfg.Home().Path, agent) }})
	if err != nil {
		f.Close()
		return nil, err
	}
	o.member.Store(f)
	closed := func(*nats.Conn) {
		if o.member.Load() == f { // or another configuration has another one
			o.onConnectionLost(f.ExplainClose())
		}
	}
	f.Connection.SetClosedHandler(closed)
	if f.Connection.IsClosed() { // before that
		closed(f.Connection)
	}
	return remote, nil
}

// reloadInterval is the interval of checks for a changed file with gateway.hot_reload.
const reloadInterval = 2 * time.Second

// watchConfig reloads the configuration on SIGHUP and, with gateway.hot_reload, after changes of the file.
func (o *Options) watchConfig(ctx context.Context, g *gateway.Gateway, cfg *config.Config) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, cli.ReloadSignals()...)
	defer signal.Stop(hangups)
	var ticks <-chan time.Time
	if cfg.Gateway().HotReload && cfg.FilePath() != "" {
		tick := time.NewTicker(reloadInterval)
		defer tick.Stop()
		ticks = tick.C
	}
	previous, _ := os.Stat(cfg.FilePath())
	for {
		select {
		case <-ctx.Done():
			return
		case <-hangups:
		case <-ticks:
			current, err := os.Stat(cfg.FilePath())
			if err != nil || previous != nil && os.SameFile(previous, current) && current.ModTime().Equal(previous.ModTime()) &&
				current.Size() == previous.Size() {
				continue
			}
			previous = current
		}
		_ = g.Reload() // it logs what is wrong
	}
}
