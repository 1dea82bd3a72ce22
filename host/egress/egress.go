// Package egress is the way from one sandbox to the network. The sandbox has a network of its own with nothing in it
// but listeners that this process holds; what they accept is connected to the hosts that a policy names, and to no
// other.
//
// A host is decided on before it is resolved. It is resolved once, the addresses are checked, and a checked one is
// dialed. The name that the client connects to, the one that its TLS asks for and the one in its requests have to be
// the same. TLS goes through as it is, except to hosts that get secrets or take only some methods: there it ends at the
// proxy, with a certificate of an authority that the sandbox is told of.
//
// The package must not know of agents, of commands or of the configuration.
package egress

import (
	"context"
	"crypto/x509"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"sync"
	"time"
)

// Options are what a proxy is made of.
type Options struct {
	Policy    *Policy
	Secrets   []Secret
	Authority *Authority // needed if there are secrets or methods

	// Report gets each refusal when it happens, and each request and connection when it ends. It is called by several
	// goroutines, and has to return soon.
	Report func(Event)

	// Ask asks a person whether a host may be connected to, for each connection anew. It has to return when the context
	// ends. If it is nil, nobody agrees.
	Ask func(ctx context.Context, host string, port uint16) bool

	Roots       *x509.CertPool // whom servers are believed by; nil for the system's
	Connections int            // how many at once; 0 for 512

	resolver resolver            // nil for this machine's
	own      func() []netip.Addr // nil for this machine's
}

// Event is a request, a connection or a question for a name, the last of which has port 0.
type Event struct {
	Time           time.Time
	Host           string
	Port           uint16
	Method         string // CONNECT for a connection that isn't looked into
	Decision       Decision
	Sent, Received int64
	Duration       time.Duration
	Err            string // why it failed, if nobody refused it
}

// Listeners are what a sandbox sees of a proxy. Any of them may be missing.
type Listeners struct {
	Proxy net.Listener   // for programs that know of proxies
	Web   []net.Listener // for those that don't: these listen on the addresses that Names hands out
	Names net.PacketConn // for questions of DNS
}

// Proxy connects one sandbox to the network.
type Proxy struct {
	Options
	secrets []bound
	names   *names

	front     *http.Server // for Listeners.Proxy
	inner     *http.Server // for what is found to be HTTP
	found     *queue       // what inner serves
	transport *http.Transport
	reverse   *httputil.ReverseProxy
	room      chan struct{} // of connections to this proxy
	outside   chan struct{} // of connections for requests

	ctx  context.Context
	end  context.CancelFunc
	wg   sync.WaitGroup
	mu   sync.Mutex
	over bool
	open map[io.Closer]bool
}

const (
	defaultConnections = 512
	wait               = 30 * time.Second // for a client to say what it wants
	idle               = 10 * time.Minute // without a byte in either direction
	maxHeader          = 64 << 10
	maxStreams         = 64 // at once on one connection
)

// New makes a proxy that serves nothing yet.
func New(o Options) (*Proxy, error) {
	if o.Policy == nil {
		return nil, errors.New("egress: no policy; compile one with Compile, of no rules for one that refuses everything")
	}
	if o.Connections <= 0 {
		o.Connections = defaultConnections
	}
	if o.resolver == nil {
		o.resolver = net.DefaultResolver
	}
	if o.own == nil {
		o.own = own
	}
	p := &Proxy{
		Options: o,
		found:   &queue{conns: make(chan net.Conn), done: make(chan struct{})},
		room:    make(chan struct{}, o.Connections),
		outside: make(chan struct{}, 2*o.Connections),
		open:    map[io.Closer]bool{},
	}
	for _, s := range o.Secrets {
		b, err := bind(s)
		if err != nil {
			return nil, err
		}
		p.secrets = append(p.secrets, b)
	}
	if p.Intercepts() && o.Authority == nil {
		return nil, errors.New("egress: secrets and methods need an authority; make one with NewAuthority")
	}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.names = newNames(o.Policy, func(t target, d Decision) { p.refused(t, "", d) })
	p.transport = p.newTransport()
	p.reverse = p.newReverse()
	p.front = p.server(http.HandlerFunc(p.serveFront))
	p.inner = p.server(http.HandlerFunc(p.serveInner))
	p.inner.ConnContext = withFound
	p.inner.Protocols.SetHTTP2(true)
	p.inner.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: maxStreams}
	return p, nil
}

// server is an HTTP server that gives no client more than its due.
func (p *Proxy) server(h http.Handler) *http.Server {
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if p.enter() {
				defer p.wg.Done()
				h.ServeHTTP(w, r)
			}
		}),
		BaseContext:       func(net.Listener) context.Context { return p.ctx },
		ReadHeaderTimeout: wait,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0),
		Protocols:         new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	return s
}

// Intercepts reports whether TLS to some hosts ends here, so that the sandbox needs to know the authority.
func (p *Proxy) Intercepts() bool {
	for _, r := range p.Policy.parts {
		if len(r.methods) > 0 {
			return true
		}
	}
	return len(p.secrets) > 0
}

// intercepts reports whether TLS to a target ends here.
func (p *Proxy) intercepts(t target) bool {
	for _, r := range p.Policy.parts {
		if r.limited(t) != nil {
			return true
		}
	}
	return p.secret(t)
}

// secret reports whether a target gets a secret.
func (p *Proxy) secret(t target) bool {
	for i := range p.secrets {
		if p.secrets[i].on(t) {
			return true
		}
	}
	return false
}

// Serve starts to serve listeners, which are closed with the proxy, and returns.
func (p *Proxy) Serve(l Listeners) {
	if l.Proxy != nil {
		p.run(l.Proxy, func() { _ = p.front.Serve(gate{l.Proxy, p}) })
	}
	for _, web := range l.Web {
		p.run(web, func() { p.serveWeb(gate{web, p}) })
	}
	if l.Names != nil {
		p.run(l.Names, func() { p.names.serve(l.Names) })
	}
	p.run(p.found, func() { _ = p.inner.Serve(p.found) })
}

// run runs f until what it serves is closed with the proxy.
func (p *Proxy) run(c io.Closer, f func()) {
	if !p.keep(c) {
		return
	}
	go func() {
		defer p.wg.Done()
		f()
	}()
}

// keep has something closed with the proxy, and counts who uses it as one more to wait for.
func (p *Proxy) keep(c io.Closer) bool {
	if !p.enter() {
		_ = c.Close()
		return false
	}
	p.mu.Lock()
	p.open[c] = true
	p.mu.Unlock()
	return true
}

// enter counts one more to wait for, unless the proxy is closed.
func (p *Proxy) enter() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.over {
		p.wg.Add(1)
	}
	return !p.over
}

// Close ends everything. Nothing is reported after it.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.over = true
	open := p.open
	p.open = map[io.Closer]bool{}
	p.mu.Unlock()
	p.end()
	for c := range open {
		_ = c.Close()
	}
	err := errors.Join(p.front.Close(), p.inner.Close())
	p.transport.CloseIdleConnections()
	p.wg.Wait()
	return err
}

// report reports an event.
func (p *Proxy) report(e Event) {
	if p.Report != nil {
		p.Report(e)
	}
}

// refused reports a refusal.
func (p *Proxy) refused(t target, method string, d Decision) {
	p.report(Event{Time: time.Now(), Host: t.host(), Port: t.port, Method: method, Decision: d})
}
