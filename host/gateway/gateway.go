// Package gateway is the life of the long-running host: the pid file, a control socket in the instance root, HTTP for
// clients and for whoever watches it, a new configuration while it runs, and a clean end.
//
// What runs is an [Instance], which one configuration makes. A reload makes another one beside it: what has begun on
// the one before goes on there until it ends.
//
// The package must not know how a call is made, nor what agents and jobs are.
package gateway

import (
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

// Instance is what one configuration makes. It may be used concurrently.
type Instance interface {
	// ServeHTTP serves MCP.
	http.Handler
	// Has reports whether an MCP session is one of this instance's.
	Has(session string) bool
	// Busy says how much has begun and not ended: calls and turns, and sessions that clients still use.
	Busy() (running, sessions int)
	// Checks says what has to be in order for this instance to work, and what is not.
	Checks() []Check
	// Begin has what happens by itself, such as jobs, happen on this instance from now on, and not on the one before. What
	// has begun there goes on.
	Begin()
	// Retire has nothing more begin by itself, unless another instance has that already. It does not wait.
	Retire()
	// Close ends everything, whatever runs.
	Close(ctx context.Context) error
}

// Check is one condition of readiness.
type Check struct {
	Name string `json:"name"`
	Err  error  `json:"-"` // nil if it is met
}

// Options are what a gateway works with.
type Options struct {
	Home    string // an existing directory
	Address string // where it serves HTTP: host:port
	Version string
	// Addressed reports whether a request with this Host header is for the gateway. A page in a browser can send others.
	Addressed func(host string) bool
	Drain     time.Duration // how long what runs may go on at the end
	// Open makes an instance of the configuration as it is now. An error leaves everything as it is.
	Open    func() (Instance, error)
	Metrics Metrics // nil for none
	Console Console // served below its path; nil for none
	Logger  hclog.Logger
}

// Console is a console for people.
type Console interface {
	http.Handler
	// Link makes a link to it that works once and soon, as a path with a query. With operate its user may act, too.
	Link(operate bool, by string) string
}

// ConsolePath is what a console is served below.
const ConsolePath = "/console/"

// Gateway is the one daemon of an instance root.
type Gateway struct {
	options Options
	started time.Time
	address string // where it is served

	reloading sync.Mutex // held while a configuration is read
	mu        sync.Mutex
	running   []*generation // the last is the current one
	last      error         // why the last reload has failed; nil if it has not
	draining  bool
	ended     sync.WaitGroup // generations that have not
}

// New makes a gateway, which starts nothing.
func New(o Options) *Gateway {
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	return &Gateway{options: o}
}

// Bounds of what a client that is no client can keep busy, and of the end.
const (
	headerTimeout  = 10 * time.Second
	idleTimeout    = 2 * time.Minute
	maxHeaderBytes = 32 << 10
	closeTimeout   = 5 * time.Second
)

// Run serves until ctx is done, and then ends: nobody new is let in, what runs has some time, and what still runs then
// is ended. ready is told where HTTP is served once it is.
func (g *Gateway) Run(ctx context.Context, ready func(address string)) (err error) {
	listener, listenErr := net.Listen("tcp", g.options.Address)
	if listenErr == nil {
		defer func() { _ = listener.Close() }()
		g.address = "http://" + listener.Addr().String()
	}
	// Whoever has the address is most likely the daemon that has the instance root: that says more.
	pid, err := pidfile.WritePidFile(g.options.Home, pidfile.Data{Address: g.address, Version: g.options.Version})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, pid.Close()) }()
	if listenErr != nil {
		return fmt.Errorf("serve HTTP: %w; --port and gateway.port choose another", listenErr)
	}
	key, err := makeKey(g.options.Home)
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
	if err = g.measure(); err != nil {
		return err
	}
	first, err := g.options.Open()
	if err != nil {
		return err
	}
	g.begin(first)

	servers := []*http.Server{g.server(g.routes()), g.server(keyed(key, g.controlRoutes()))}
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
	g.end()
	for _, s := range servers {
		_ = s.Close()
	}
	return err
}

func (g *Gateway) server(h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: g.options.Logger.StandardLogger(&hclog.StandardLoggerOptions{ForceLevel: hclog.Debug}),
	}
}

// end lets nobody new in, waits for what runs as long as it may, and ends everything.
func (g *Gateway) end() {
	g.reloading.Lock() // no generation begins any more
	defer g.reloading.Unlock()
	g.mu.Lock()
	g.draining = true
	all := g.running
	g.mu.Unlock()
	patient, cancel := context.WithTimeout(context.Background(), g.options.Drain)
	defer cancel()
	for _, one := range all {
		one.Retire()
		one.drained(patient)
	}
	for _, one := range all {
		one.close()
	}
	g.ended.Wait()
}
