// Package egress is a proxy between one sandbox and the network. The sandbox's network namespace contains only
// listeners that this process holds; the proxy connects their clients to the hosts that a policy allows, and to no
// others.
//
// The proxy decides on a host before it resolves the name. It resolves the name once, checks the addresses, and dials
// one that passed. The host that a client connects to, the server name in TLS and the host of its requests must be
// equal. The proxy tunnels TLS unchanged, except to hosts with secrets or restricted requests: for those it terminates
// TLS with a certificate of an authority that the sandbox trusts.
//
// The package must not know of agents, of commands or of the configuration.
package egress

import (
	"bytes"
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// ProxyOptions configures a proxy.
type ProxyOptions struct {
	Policy    *Policy
	Secrets   []Secret
	Authority *CertificateAuthority // required if there are secrets or restricted requests

	// Report receives each refusal at once, and each request and connection when it ends. Several goroutines call it,
	// and it must return soon.
	Report func(ConnectionEvent)

	// Connected, if not nil, receives the target of each connection to a server when it is open. It must return soon.
	Connected func(host string, port uint16)

	// Ask asks a person to allow a connection to a host. It must return when the context ends. If Ask is nil, the
	// proxy refuses such connections.
	Ask func(ctx context.Context, host string, port uint16) bool

	Roots       *x509.CertPool // certificate authorities for servers; nil for the system's
	Connections int            // maximum number of connections; 0 for 512

	// NameAddresses is the network of the addresses that stand for names; the zero value is 127.1.0.0/16.
	NameAddresses netip.Prefix

	resolver   ipResolver          // nil for the system's
	localAddrs func() []netip.Addr // nil for this machine's addresses
}

// ConnectionEvent is a refused or finished request or connection, or a refused DNS query. Port is 0 for a DNS query.
type ConnectionEvent struct {
	Time           time.Time
	Host           string
	Port           uint16
	Method         string // CONNECT for a tunneled connection
	Decision       Decision
	Sent, Received int64
	Duration       time.Duration
	Err            string // reason of a failure other than a refusal
}

// cantPrefix begins the error texts of requests and connections that the proxy itself could not complete.
const cantPrefix = "network: can't "

// FailedInProxy reports whether the proxy itself failed to complete the request or connection.
func (e ConnectionEvent) FailedInProxy() bool { return strings.HasPrefix(e.Err, cantPrefix) }

// Listeners are the listeners through which a sandbox reaches the proxy. Each may be nil.
type Listeners struct {
	Proxy net.Listener   // for HTTP proxy clients
	Web   []net.Listener // for other clients; they listen on the addresses that Names assigns
	Names net.PacketConn // for DNS queries
}

// Proxy connects one sandbox to the hosts that a policy allows.
type Proxy struct {
	ProxyOptions
	secrets []compiledSecret
	dns     *dnsServer

	proxyServer  *http.Server   // serves Listeners.Proxy
	httpServer   *http.Server   // serves connections that turn out to be HTTP
	httpConns    *queueListener // connections for httpServer
	transport    *http.Transport
	reverseProxy *httputil.ReverseProxy
	clientSlots  chan struct{} // limits connections from the sandbox
	serverSlots  chan struct{} // limits connections for requests

	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	mu     sync.Mutex
	closed bool
	open   map[io.Closer]bool
}

const (
	defaultConnections = 512
	setupTimeout       = 30 * time.Second // timeout for a client's first bytes
	idleTimeout        = 10 * time.Minute // without a byte in either direction
	maxHeader          = 64 << 10
	maxStreams         = 64 // HTTP/2 streams per connection
)

// NewProxy returns a proxy. It serves nothing before Serve.
func NewProxy(o ProxyOptions) (*Proxy, error) {
	if o.Policy == nil {
		return nil, errors.New("egress: Policy is nil; compile one with Compile (empty rules refuse everything)")
	}
	if o.Connections <= 0 {
		o.Connections = defaultConnections
	}
	if o.resolver == nil {
		o.resolver = net.DefaultResolver
	}
	if o.localAddrs == nil {
		o.localAddrs = machineAddrs
	}
	p := &Proxy{
		ProxyOptions: o,
		httpConns:    &queueListener{conns: make(chan net.Conn), done: make(chan struct{})},
		clientSlots:  make(chan struct{}, o.Connections),
		serverSlots:  make(chan struct{}, 2*o.Connections),
		open:         map[io.Closer]bool{},
	}
	for _, s := range o.Secrets {
		b, err := compileSecret(s)
		if err != nil {
			return nil, err
		}
		p.secrets = append(p.secrets, b)
	}
	if p.TerminatesAnyTLS() && o.Authority == nil {
		return nil, errors.New("egress: secrets, methods and requests require an Authority; create one with NewAuthority")
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	if !o.NameAddresses.IsValid() {
		o.NameAddresses = netip.MustParsePrefix("127.1.0.0/16")
	}
	p.dns = newDNSServer(o.Policy, o.NameAddresses, func(t target, d Decision) { p.reportRefusal(t, "", d) })
	p.transport = p.newTransport()
	p.reverseProxy = p.newReverseProxy()
	p.proxyServer = p.newHTTPServer(http.HandlerFunc(p.serveProxyRequest))
	p.httpServer = p.newHTTPServer(http.HandlerFunc(p.serveTargetRequest))
	p.httpServer.ConnContext = withClientConn
	p.httpServer.Protocols.SetHTTP2(true)
	p.httpServer.HTTP2 = &http.HTTP2Config{MaxConcurrentStreams: maxStreams}
	return p, nil
}

// newHTTPServer returns an HTTP server with size and time limits for its clients.
func (p *Proxy) newHTTPServer(h http.Handler) *http.Server {
	s := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if p.addToWaitGroup() {
				defer p.wg.Done()
				h.ServeHTTP(w, r)
			}
		}),
		BaseContext:       func(net.Listener) context.Context { return p.ctx },
		ReadHeaderTimeout: setupTimeout,
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0),
		Protocols:         new(http.Protocols),
	}
	s.Protocols.SetHTTP1(true)
	return s
}

// TerminatesAnyTLS reports whether the proxy terminates the TLS of any host. The sandbox must then trust its authority.
func (p *Proxy) TerminatesAnyTLS() bool {
	return len(p.secrets) > 0 || p.Policy.RestrictsRequests()
}

func (p *Proxy) terminatesTLS(t target) bool {
	return slices.ContainsFunc(*p.Policy.parts.Load(), func(r *compiledRules) bool { return r.requestRuleFor(t) != nil }) ||
		slices.ContainsFunc(p.secrets, func(s compiledSecret) bool { return s.appliesToTarget(t) })
}

// StartServing starts serving the listeners in the background. Close closes them.
func (p *Proxy) StartServing(l Listeners) {
	if l.Proxy != nil {
		p.serveAsync(l.Proxy, func() { _ = p.proxyServer.Serve(limitedListener{l.Proxy, p}) })
	}
	for _, web := range l.Web {
		p.serveAsync(web, func() { p.acceptTransparentConns(limitedListener{web, p}) })
	}
	if l.Names != nil {
		p.serveAsync(l.Names, func() { p.dns.servePackets(l.Names) })
	}
	p.serveAsync(p.httpConns, func() { _ = p.httpServer.Serve(p.httpConns) })
}

// serveAsync runs serve in a goroutine. Closing the proxy closes c, which must end serve.
func (p *Proxy) serveAsync(c io.Closer, serve func()) {
	if !p.registerCloser(c) {
		return
	}
	go func() {
		defer p.wg.Done()
		serve()
	}()
}

// registerCloser makes Close close c and wait for unregisterCloser or wg.Done. If the proxy is already closed, it
// closes c and returns false.
func (p *Proxy) registerCloser(c io.Closer) bool {
	if !p.addToWaitGroup() {
		_ = c.Close()
		return false
	}
	p.mu.Lock()
	p.open[c] = true
	p.mu.Unlock()
	return true
}

// addToWaitGroup adds one to the wait group of Close. It returns false if the proxy is closed.
func (p *Proxy) addToWaitGroup() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.wg.Add(1)
	}
	return !p.closed
}

// Close closes all listeners and connections, and waits for their goroutines. No event is reported after it returns.
func (p *Proxy) Close() error {
	p.mu.Lock()
	p.closed = true
	open := p.open
	p.open = map[io.Closer]bool{}
	p.mu.Unlock()
	p.cancel()
	err := errors.Join(p.proxyServer.Close(), p.httpServer.Close()) // first: it returns an error for a closed listener
	for c := range open {
		_ = c.Close()
	}
	p.transport.CloseIdleConnections()
	p.wg.Wait()
	return err
}

// reportEvent passes an event to the function Report of the options, if any.
func (p *Proxy) reportEvent(e ConnectionEvent) {
	if p.Report != nil {
		p.Report(e)
	}
}

func (p *Proxy) reportRefusal(t target, method string, d Decision) {
	p.reportEvent(ConnectionEvent{Time: time.Now(), Host: t.nameOrAddr(), Port: t.port, Method: method, Decision: d})
}

// serveProxyRequest serves a request of an HTTP proxy client: a CONNECT request, or a request for an http URL.
func (p *Proxy) serveProxyRequest(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodConnect:
		p.serveConnectRequest(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		if t, d, ok := p.admitRequest(w, r, 80); ok {
			p.forwardRequest(w, r, t, d, "http")
		}
	default:
		http.Error(w, "network: this is a proxy; send CONNECT, or a request for an http:// URL", http.StatusBadRequest)
	}
}

// serveConnectRequest serves a CONNECT request: it connects to the target and relays the connection.
func (p *Proxy) serveConnectRequest(w http.ResponseWriter, r *http.Request) {
	t, d, ok := p.admitRequest(w, r, 0)
	if !ok {
		return
	}
	outside, err := p.dialUnlessTerminatingTLS(r.Context(), t)
	if err != nil {
		p.answerFailedRequest(w, t, r.Method, d, err)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		closeConns(outside)
		return
	}
	c, ok := conn.(*clientConn)
	if !ok {
		closeConns(conn, outside)
		return
	}
	early, _ := buffered.Peek(buffered.Reader.Buffered())
	b := &boundClientConn{clientConn: c, head: bytes.Clone(early), target: t, decision: d}
	if _, err := io.WriteString(c, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		closeConns(c, outside)
		return
	}
	p.serveAllowedConn(b, outside)
}

// admitRequest decides on the target of a proxy request. It answers a refused request and returns false.
func (p *Proxy) admitRequest(w http.ResponseWriter, r *http.Request, port uint16) (target, Decision, bool) {
	t, err := parseHostPort(r.Host, port)
	if r.URL.User != nil {
		err = fmt.Errorf("%q has a user name before the host", r.RequestURI)
	}
	if err != nil {
		bad := newRefusalError("network: refused, as %v", err)
		p.reportRefusal(target{name: r.Host, port: t.port}, r.Method, bad.Decision)
		writeHTTPRefusal(w, http.StatusForbidden, bad)
		return t, bad.Decision, false
	}
	d, refused := p.decideOrAsk(r.Context(), t)
	if refused != nil {
		p.reportRefusal(t, r.Method, d)
		writeHTTPRefusal(w, http.StatusForbidden, refused)
	}
	return t, d, refused == nil
}

// dialUnlessTerminatingTLS connects to a target. If the proxy terminates its TLS, it only checks the addresses.
func (p *Proxy) dialUnlessTerminatingTLS(ctx context.Context, t target) (net.Conn, error) {
	addrs, err := p.resolveAllowedAddrs(ctx, t)
	if err != nil || p.terminatesTLS(t) {
		return nil, err
	}
	return p.dialFirstReachable(ctx, t, addrs)
}

// answerFailedRequest answers a request whose target was refused or could not be reached, and reports the failure.
func (p *Proxy) answerFailedRequest(w http.ResponseWriter, t target, method string, d Decision, err error) {
	if refused, ok := errors.AsType[*refusalError](err); ok {
		p.reportRefusal(t, method, refused.Decision)
		writeHTTPRefusal(w, http.StatusForbidden, refused)
		return
	}
	p.reportEvent(ConnectionEvent{Time: time.Now(), Host: t.nameOrAddr(), Port: t.port, Method: method, Decision: d, Err: err.Error()})
	http.Error(w, err.Error(), http.StatusBadGateway)
}

func writeHTTPRefusal(w http.ResponseWriter, status int, refused *refusalError) {
	w.Header().Set(errorHeader, refused.errorCode)
	http.Error(w, refused.Reason, status)
}

// errorHeader is the response header with the kind of a refusal, for programs.
const errorHeader = "X-Proxy-Error"

func closeConns(conns ...io.Closer) {
	for _, c := range conns {
		if conn, ok := c.(net.Conn); ok && conn != nil {
			_ = conn.Close()
		}
	}
}
