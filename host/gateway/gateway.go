// Package gateway runs the long-lived host process: pid file, control socket in the home, HTTP for clients and
// monitoring, configuration reload and clean shutdown.
//
// An [Instance] serves one configuration. A reload starts a new instance; calls that are in progress finish on the
// old one.
//
// The package must not know how calls are made, nor the meaning of agents and jobs.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/pidfile"
)

// Runtime serves the agents of one configuration. It is safe for concurrent use.
type Runtime interface {
	// ServeHTTP serves MCP.
	http.Handler
	// HasSession reports whether an MCP session belongs to this runtime.
	HasSession(session string) bool
	// ActivityCounts returns the number of running calls and turns, and of open client sessions.
	ActivityCounts() (running, sessions int)
	// PublishedPorts returns the agents and addresses of servers in sandboxes that this machine reaches.
	PublishedPorts() []string
	// HealthChecks returns the readiness checks of this runtime.
	HealthChecks() []ReadinessCheck
	// StartSchedulers starts background work, such as jobs. The previous runtime only finishes its running work.
	StartSchedulers()
	// StopSchedulers ends background work: running jobs finish, and no more start. It does nothing if a newer runtime
	// has started the schedulers. It does not wait.
	StopSchedulers()
	// Close stops everything, including running work.
	Close(ctx context.Context) error
}

// ReadinessCheck is a named condition for making calls.
type ReadinessCheck struct {
	Name string `json:"name"`
	Err  error  `json:"-"` // nil if the check succeeds
}

// Options configure a gateway.
type Options struct {
	Home    string // an existing directory
	Address string // HTTP address: host:port
	Version string
	// IsOwnHost reports whether a Host header names this gateway. It protects against DNS rebinding by pages in a
	// browser.
	IsOwnHost    func(host string) bool
	DrainTimeout time.Duration // time for work in progress at shutdown
	// OpenInstance creates an instance of the current configuration. After an error, nothing has changed.
	OpenInstance func() (Runtime, error)
	Metrics      MetricsRegistry // nil for none
	Console      Console         // served below ConsolePath; nil for none
	Logger       hclog.Logger
}

// Console is the web console.
type Console interface {
	http.Handler
	// NewLoginLink returns a one-time link that soon expires, as a path with a query. With operate, its user may change
	// things.
	NewLoginLink(operate bool, by string) string
}

// ConsolePath is the URL path of the console.
const ConsolePath = "/console/"

// Gateway is the daemon of a PICOCLAW_HOME.
type Gateway struct {
	options Options
	started time.Time
	address string // URL of the HTTP server

	reloadMu    sync.Mutex // held during a reload
	mu          sync.Mutex
	generations []*runtimeGeneration // the last is the current one
	reloadErr   error                // error of the last reload, or nil
	draining    bool
	answering   sync.WaitGroup // requests of MCP clients without their answer; not their streams
	active      sync.WaitGroup // generations that have not closed
}

// New returns a gateway without starting it.
func New(o Options) *Gateway {
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	return &Gateway{options: o}
}

// Limits for slow or broken clients, and the timeout of Close.
const (
	headerTimeout  = 10 * time.Second
	bodyTimeout    = 30 * time.Second // handlers of long requests read the body, and reset it
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
	closeTimeout   = 5 * time.Second
)

// Run serves until ctx is done. Then it refuses new requests, waits for running work up to the drain timeout, and
// closes everything. Run calls ready with the HTTP address once it serves.
func (g *Gateway) Run(ctx context.Context, ready func(address string)) (err error) {
	listener, listenErr := net.Listen("tcp", g.options.Address)
	if listenErr == nil {
		defer func() { _ = listener.Close() }()
		g.address = "http://" + listener.Addr().String()
	}
	// The address is most likely in use by the daemon of this home: the error of the pid file says so.
	pid, err := pidfile.AcquirePidFile(g.options.Home, pidfile.DaemonInfo{Address: g.address, Version: g.options.Version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pid.Close()) }()
	if listenErr != nil {
		return fmt.Errorf("serve HTTP: %w; --port and gateway.port choose another", listenErr)
	}
	key, err := writeControlKey(g.options.Home)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(filepath.Join(g.options.Home, keyName)) }()
	control, err := listenControl(g.options.Home)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(control.Addr().String()) }()
	g.started = time.Now()
	if err = g.registerMetrics(); err != nil {
		return err
	}
	first, err := g.options.OpenInstance()
	if err != nil {
		return err
	}
	g.activateRuntime(first)

	servers := []*http.Server{NewHTTPServer(g.httpRoutes(), g.options.Logger),
		NewHTTPServer(requireControlKey(key, g.controlRoutes()), g.options.Logger)}
	failed := make(chan error, len(servers))
	for i, l := range []net.Listener{listener, control} {
		go func() { failed <- servers[i].Serve(l) }()
	}
	ready(g.address)
	select {
	case <-ctx.Done():
	case err = <-failed:
		err = fmt.Errorf("serve HTTP: %w", err)
	}
	g.shutDown()
	last, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, s := range servers {
		if s.Shutdown(last) != nil { // returned answers may not be written yet
			_ = s.Close()
		}
	}
	return err
}

// NewHTTPServer returns an HTTP server with timeouts and limits, which also apply to clients without a token.
func NewHTTPServer(h http.Handler, logger hclog.Logger) *http.Server {
	return &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Body != http.NoBody {
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyTimeout))
			}
			h.ServeHTTP(w, r)
		}),
		ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
}

// shutDown refuses new work, waits for running work up to the drain timeout, and closes all runtimes.
func (g *Gateway) shutDown() {
	g.reloadMu.Lock() // no generation starts during the shutdown
	defer g.reloadMu.Unlock()
	g.mu.Lock()
	g.draining = true
	all := g.generations
	g.mu.Unlock()
	drainCtx, cancel := context.WithTimeout(context.Background(), g.options.DrainTimeout)
	defer cancel()
	for _, gen := range all {
		gen.StopSchedulers()
		gen.waitUntilIdle(pollInterval/4, drainCtx.Done(), func(running, _ int) bool { return running == 0 }) // sessions may stay
	}
	g.waitUntilAnswered()
	for _, gen := range all {
		gen.requestClose()
		<-gen.closed
	}
	g.active.Wait()
}

// waitUntilAnswered waits until the results of finished calls are sent, which takes longer than the calls.
func (g *Gateway) waitUntilAnswered() {
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		g.answering.Wait()
	}()
	select {
	case <-answered:
	case <-time.After(closeTimeout):
	}
}
