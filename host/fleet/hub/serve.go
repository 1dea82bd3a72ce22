package hub

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"

	"github.com/picoclaw/picoclaw/host/fleet/identity"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/internal/authority"
	"github.com/picoclaw/picoclaw/internal/filelock"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

const (
	startPatience = 15 * time.Second
	maxPending    = 32 << 20 // of what one connection has not read yet; it is cut then
	maxStore      = 1 << 60  // each stream has a bound
)

// Serve serves the hub until the context ends, and tells ready where. Everything that it does is on disk when it
// returns.
func (h *Hub) Serve(ctx context.Context, logger hclog.Logger, ready func(address string)) error {
	unlock, err := h.lock(runningLock)
	if errors.Is(err, filelock.ErrLocked) {
		return fmt.Errorf("the hub in %s is running already", h.dir)
	}
	if err != nil {
		return err
	}
	defer unlock()
	srv, r, err := h.start(logger)
	if err != nil {
		return err
	}
	defer func() {
		srv.Shutdown()
		srv.WaitForShutdown()
		_ = os.Remove(h.path("address"))
	}()
	host, port, err := net.SplitHostPort(srv.Addr().String())
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); ip.IsUnspecified() || identity.Loopback(host) {
		host = "localhost"
	}
	at := net.JoinHostPort(host, port) // as this machine reaches the server
	for name, tenant := range r.Tenants {
		if err := h.prepare(ctx, at, name, tenant); err != nil {
			return fmt.Errorf("the hub: %w", explainStoreError(err))
		}
	}
	s := &store{srv: srv, dir: h.path("store"), log: logger}
	if err := h.relays(ctx, s, r); err != nil {
		return fmt.Errorf("the hub: %w", err)
	}
	var watching sync.WaitGroup
	watching.Go(func() { s.watch(ctx) })
	defer watching.Wait() // or JetStream is restarted while the server ends
	// Commands that look for a hub find it from here on.
	if err := atomicfile.WriteFile(h.path("address"), []byte(at), 0o600); err != nil {
		return err
	}
	ready(srv.Addr().String())
	<-ctx.Done()
	return nil
}

// start starts the server.
func (h *Hub) start(logger hclog.Logger) (*server.Server, *Register, error) {
	var r *Register
	if err := h.change(func(now *Register) error { r = now; return nil }); err != nil {
		return nil, nil, err
	}
	options, err := h.options(r)
	if err != nil {
		return nil, nil, err
	}
	if err = tryListen(r.Listen); err != nil {
		return nil, nil, err
	}
	srv, err := server.NewServer(options)
	if err != nil {
		return nil, nil, fmt.Errorf("the hub can't start: %w", err)
	}
	srv.SetLoggerV2(&logs{Logger: logger}, logger.IsDebug(), logger.IsTrace(), false)
	go srv.Start()
	if !srv.ReadyForConnections(startPatience) {
		srv.Shutdown()
		return nil, nil, fmt.Errorf("the hub does not come up at %s; --log-level info says more", r.Listen)
	}
	return srv, r, nil
}

func (h *Hub) options(r *Register) (*server.Options, error) {
	host, port, err := splitListen(r.Listen)
	if err != nil {
		return nil, fmt.Errorf("the hub: %w; --listen names another", err)
	}
	ca, err := h.authority()
	if err != nil {
		return nil, err
	}
	operator, err := h.operatorClaims()
	if err != nil {
		return nil, err
	}
	resolver, err := server.NewDirAccResolver(h.path("accounts"), 0, 0, server.NoDelete)
	if err != nil {
		return nil, err
	}
	names := slices.Concat(r.Names, []string{"localhost", "127.0.0.1", "::1"})
	if host != "" {
		names = append(names, host)
	}
	return &server.Options{
		ServerName: "picoclaw", Host: host, Port: cmp.Or(port, server.RANDOM_PORT), NoSigs: true,
		TLS: true, TLSConfig: serving(ca, names), TLSTimeout: 5,
		TrustedOperators: []*jwt.OperatorClaims{operator}, SystemAccount: operator.SystemAccount, AccountResolver: resolver,
		MaxPayload: maxPayload, MaxPending: maxPending,
		JetStream: true, StoreDir: h.path("store"), SyncAlways: true, // or a placement that was told of could be lost
		JetStreamMaxStore: maxStore, JetStreamMaxMemory: maxStore,
	}, nil
}

// logs writes what the server says to the program's log.
type logs struct {
	hclog.Logger

	mu     sync.Mutex
	second int64 // of the clock
	errors int   // in it
}

// mostErrors is how many errors are written in a second: each refusal is one, and whoever is refused may go on.
const mostErrors = 20

// few reports whether an error is written.
func (l *logs) few() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now().Unix(); now != l.second {
		l.second, l.errors = now, 0
	}
	l.errors++
	if l.errors == mostErrors+1 {
		l.Error("there are more errors in this second")
	}
	return l.errors <= mostErrors
}

func (l *logs) Noticef(format string, v ...any) { l.Info(fmt.Sprintf(format, v...)) }
func (l *logs) Warnf(format string, v ...any)   { l.Warn(fmt.Sprintf(format, v...)) }
func (l *logs) Errorf(format string, v ...any) {
	if l.few() {
		l.Error(fmt.Sprintf(format, v...))
	}
}
func (l *logs) Fatalf(format string, v ...any) { l.Error(fmt.Sprintf(format, v...)) }
func (l *logs) Debugf(format string, v ...any) { l.Debug(fmt.Sprintf(format, v...)) }
func (l *logs) Tracef(format string, v ...any) { l.Trace(fmt.Sprintf(format, v...)) }

// CheckListen checks an address to listen at, if any, and the names by which other machines reach it.
func CheckListen(address string, names []string) error {
	if address != "" {
		if _, _, err := splitListen(address); err != nil {
			return err
		}
	}
	for _, name := range names {
		if ip, err := netip.ParseAddr(name); err == nil && ip.Zone() == "" && !ip.IsUnspecified() || isHost(name) {
			continue
		}
		return fmt.Errorf("other machines can't reach the hub by the name %q: want a host name or an IP address", name)
	}
	return nil
}

// splitListen splits an address to listen at. A port of 0 is any, a host that is empty all addresses of the machine.
func splitListen(address string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(address)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not an address such as 0.0.0.0:4222", address)
	}
	if _, ipErr := netip.ParseAddr(host); ipErr != nil && host != "" && !isHost(host) {
		return "", 0, fmt.Errorf("%q is not an address such as 0.0.0.0:4222: %q is no host", address, host)
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return "", 0, fmt.Errorf("%q is not an address such as 0.0.0.0:4222: %q is no port from 0 to 65535", address, text)
	}
	return host, int(number), nil
}

var (
	label  = lazyregexp.New(`^[A-Za-z0-9_]([A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?$`)
	digits = lazyregexp.New(`^[0-9]+$`)
)

// isHost reports whether a machine may be called so.
func isHost(name string) bool {
	labels := strings.Split(name, ".")
	for _, l := range labels {
		if !label().MatchString(l) {
			return false
		}
	}
	return len(name) <= 253 && !digits().MatchString(labels[len(labels)-1]) // or it is taken for an IP address
}

// tryListen tries whether the hub can listen at an address: the server that does takes long to say that it can't.
func tryListen(address string) error {
	l, err := net.Listen("tcp", address)
	if err == nil {
		return l.Close()
	}
	hint := ""
	if errors.Is(err, syscall.EADDRINUSE) {
		hint = "; is another server there?"
	}
	if why, ok := errors.AsType[*net.OpError](err); ok {
		err = why.Err // the address is said already
	}
	return fmt.Errorf("the hub can't serve at %s: %w%s", address, err, hint)
}

// How long certificates hold. That of a server is made anew while it serves, the authority's is not.
const (
	authorityHolds = 20 * 365 * 24 * time.Hour
	serverHolds    = 90 * 24 * time.Hour
	renewBefore    = 30 * 24 * time.Hour
)

// authority reads the certificate authority.
func (h *Hub) authority() (*authority.CertificateAuthority, error) {
	data, err := smallfile.Read(h.path("authority.pem"), 1<<20)
	if err != nil {
		return nil, h.damaged(err)
	}
	first, rest := pem.Decode(data)
	second, _ := pem.Decode(rest)
	if first == nil || second == nil {
		return nil, h.damaged(fmt.Errorf("%s: it has no certificate and key", h.path("authority.pem")))
	}
	a := &authority.CertificateAuthority{}
	if a.Certificate, err = x509.ParseCertificate(first.Bytes); err == nil {
		a.Key, err = x509.ParseECPrivateKey(second.Bytes)
	}
	if err != nil {
		return nil, h.damaged(fmt.Errorf("%s: %w", h.path("authority.pem"), err))
	}
	return a, nil
}

func newAuthority() ([]byte, error) {
	a, err := authority.NewAuthority("picoclaw hub", authorityHolds)
	if err != nil {
		return nil, err
	}
	secret, err := x509.MarshalECPrivateKey(a.Key)
	if err != nil {
		return nil, err
	}
	return append(a.CertificatePEM(), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: secret})...), nil
}

// serving is the TLS of a hub that goes by some names and addresses.
func serving(a *authority.CertificateAuthority, names []string) *tls.Config {
	var mu sync.Mutex
	var current *tls.Certificate
	return &tls.Config{
		MinVersion: tls.VersionTLS13,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			mu.Lock()
			defer mu.Unlock()
			if current == nil || time.Until(current.Leaf.NotAfter) < renewBefore {
				key, err := authority.NewKey()
				if err != nil {
					return nil, err
				}
				if current, err = a.IssueCertificate(key, "picoclaw hub", serverHolds, names...); err != nil {
					return nil, err
				}
			}
			return current, nil
		},
	}
}
