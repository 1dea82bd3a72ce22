package egress

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// ipResolver resolves names to addresses, as *net.Resolver does.
type ipResolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// refusalError is a decision to refuse a connection or request, as an error.
type refusalError struct {
	Decision
	errorCode string // value of the X-Proxy-Error header
}

// Error returns the reason.
func (r *refusalError) Error() string { return r.Reason }

// Values of the X-Proxy-Error header.
const (
	codeAllowlist = "blocked-by-allowlist"
	codeDenylist  = "blocked-by-denylist"
	codeMethod    = "blocked-by-method-policy"
	codePolicy    = "blocked-by-policy"
)

// newRefusalError returns a refusal that no setting caused, such as an invalid request.
func newRefusalError(format string, args ...any) *refusalError {
	return &refusalError{Decision{Verdict: Deny, Reason: fmt.Sprintf(format, args...)}, codePolicy}
}

// decideOrAsk decides on a target. If the verdict is ask, it asks a person.
func (p *Proxy) decideOrAsk(ctx context.Context, t target) (Decision, *refusalError) {
	d := p.Policy.decideTarget(t)
	switch {
	case d.Verdict == Allow:
		return d, nil
	case d.Verdict == Ask && p.Ask != nil && p.Ask(ctx, t.nameOrAddr(), t.port):
		return Decision{Verdict: Allow, Rule: d.Rule, Entry: d.Entry}, nil
	}
	r := &refusalError{d, codePolicy}
	switch {
	case d.Rule == "network.deny":
		r.errorCode = codeDenylist
	case d.Verdict == Deny:
		r.errorCode = codeAllowlist
	}
	r.Verdict = Deny
	return r.Decision, r
}

// resolveAllowedAddrs returns the addresses at which the proxy may dial a target. If all addresses of the target are refused,
// it returns a refusal.
func (p *Proxy) resolveAllowedAddrs(ctx context.Context, t target) ([]netip.Addr, error) {
	addrs := []netip.Addr{t.addr}
	if t.name != "" {
		if addrs = p.Policy.staticAddrs(t.name); addrs == nil {
			name := t.name
			if strings.Contains(name, ".") {
				name += "." // skip the search domains of this machine
			}
			lookup, cancel := context.WithTimeout(ctx, setupTimeout)
			defer cancel()
			var err error
			if addrs, err = p.resolver.LookupNetIP(lookup, "ip", name); err != nil {
				return nil, fmt.Errorf(cantPrefix+"resolve %s: %w", t.nameOrAddr(), err)
			}
		}
	}
	local := p.localAddrs()
	var allowed []netip.Addr
	for _, addr := range addrs {
		addr = addr.Unmap()
		if addr.Zone() == "" && p.Policy.allowsResolvedAddr(t, addr, slices.Contains(local, addr)) && !slices.Contains(allowed, addr) {
			allowed = append(allowed, addr)
		}
	}
	if len(allowed) == 0 {
		example := "10.0.0.5"
		if len(addrs) > 0 {
			example = addrs[0].Unmap().WithZone("").String()
		}
		r := newRefusalError("network: refused %s, as none of its addresses %v is public or named; setting network.allow, "+
			"as a network such as %s", t.displayName(), addrs, FormatAllowEntry(example, t.port))
		return nil, r
	}
	return allowed, nil
}

// dialFirstReachable dials the addresses of a target in order, and returns the first connection.
func (p *Proxy) dialFirstReachable(ctx context.Context, t target, addrs []netip.Addr) (net.Conn, error) {
	dialer := net.Dialer{Timeout: setupTimeout / time.Duration(cmp.Or(min(len(addrs), 3), 1))}
	var errs []error
	for _, addr := range addrs {
		conn, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(addr, t.port).String())
		if err == nil {
			if p.Connected != nil {
				p.Connected(t.nameOrAddr(), t.port)
			}
			return conn, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf(cantPrefix+"connect to %s: %w", t.displayName(), errors.Join(errs...))
}

// dialForRequest dials the server of a request. It is the DialContext of the HTTP transport.
func (p *Proxy) dialForRequest(ctx context.Context, _, address string) (net.Conn, error) {
	t, err := parseHostPort(address, 0)
	if err != nil {
		return nil, err
	}
	addrs, err := p.resolveAllowedAddrs(ctx, t)
	if err != nil {
		return nil, err
	}
	select {
	case p.serverSlots <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	conn, err := p.dialFirstReachable(ctx, t, addrs)
	if err != nil {
		<-p.serverSlots
		return nil, err
	}
	return &slotConn{Conn: conn, slots: p.serverSlots}, nil
}
