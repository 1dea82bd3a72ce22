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

// resolver is what a net.Resolver does.
type resolver interface {
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// refusal is an error that is a decision.
type refusal struct {
	Decision
	code string // as programs read it
}

func (r *refusal) Error() string { return r.Reason }

// The codes of refusals.
const (
	byAllowlist = "blocked-by-allowlist"
	byDenylist  = "blocked-by-denylist"
	byMethod    = "blocked-by-method-policy"
	byPolicy    = "blocked-by-policy"
)

// refuse is a refusal for what no setting names.
func refuse(format string, args ...any) *refusal {
	return &refusal{Decision{Verdict: Deny, Reason: fmt.Sprintf(format, args...)}, byPolicy}
}

// agree decides on a target, and asks if that is the decision.
func (p *Proxy) agree(ctx context.Context, t target) (Decision, *refusal) {
	d := p.Policy.decide(t)
	switch {
	case d.Verdict == Allow:
		return d, nil
	case d.Verdict == Ask && p.Ask != nil && p.Ask(ctx, t.host(), t.port):
		return Decision{Verdict: Allow, Rule: d.Rule, Entry: d.Entry}, nil
	}
	r := &refusal{d, byPolicy}
	switch {
	case d.Rule == "network.deny":
		r.code = byDenylist
	case d.Verdict == Deny:
		r.code = byAllowlist
	}
	r.Verdict = Deny
	return r.Decision, r
}

// resolve returns the addresses of a target that it may be connected to at. The error is a refusal if it has others.
func (p *Proxy) resolve(ctx context.Context, t target) ([]netip.Addr, error) {
	found := []netip.Addr{t.addr}
	if t.name != "" {
		if found = p.Policy.known(t.name); found == nil {
			name := t.name
			if strings.Contains(name, ".") {
				name += "." // not below this machine's own domain
			}
			ctx, cancel := context.WithTimeout(ctx, wait)
			defer cancel()
			var err error
			if found, err = p.resolver.LookupNetIP(ctx, "ip", name); err != nil {
				return nil, fmt.Errorf("network: %s can't be resolved: %w", t.host(), err)
			}
		}
	}
	mine := p.own()
	var good []netip.Addr
	for _, addr := range found {
		addr = addr.Unmap()
		if addr.Zone() == "" && p.Policy.reaches(t, addr, slices.Contains(mine, addr)) && !slices.Contains(good, addr) {
			good = append(good, addr)
		}
	}
	if len(good) == 0 {
		r := refuse("network: refused %s, as none of its addresses %v is public or named; setting network.allow, "+
			"as a network such as %s", t.shown(), found, example(found))
		return nil, r
	}
	return good, nil
}

// example is an entry for the first of some addresses.
func example(addrs []netip.Addr) string {
	if len(addrs) == 0 {
		return "10.0.0.5/32"
	}
	addr := addrs[0].Unmap().WithZone("")
	return netip.PrefixFrom(addr, addr.BitLen()).String()
}

// dial connects to a target at the first of some addresses that answers.
func (p *Proxy) dial(ctx context.Context, t target, addrs []netip.Addr) (net.Conn, error) {
	dialer := net.Dialer{Timeout: wait / time.Duration(cmp.Or(min(len(addrs), 3), 1))}
	var errs []error
	for _, addr := range addrs {
		conn, err := dialer.DialContext(ctx, "tcp", netip.AddrPortFrom(addr, t.port).String())
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("network: %s can't be connected to: %w", t.shown(), errors.Join(errs...))
}

// dialRequest connects for a request, whose target is an address as net.Dial takes it.
func (p *Proxy) dialRequest(ctx context.Context, _, address string) (net.Conn, error) {
	t, err := parseAuthority(address, 0)
	if err != nil {
		return nil, err
	}
	addrs, err := p.resolve(ctx, t)
	if err != nil {
		return nil, err
	}
	select {
	case p.outside <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	conn, err := p.dial(ctx, t, addrs)
	if err != nil {
		<-p.outside
		return nil, err
	}
	return &counted{Conn: conn, room: p.outside}, nil
}
