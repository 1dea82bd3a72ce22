package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"sync/atomic"
)

// Policy decides which hosts may be connected to. It is safe for concurrent use.
type Policy struct {
	parts atomic.Pointer[[]*compiledRules] // immutable; all parts must allow a host
}

func newPolicy(parts ...*compiledRules) *Policy {
	p := &Policy{}
	p.parts.Store(&parts)
	return p
}

// AllowHost adds an entry to network.allow. Rules that deny or ask still apply. Calls must not be concurrent.
func (p *Policy) AllowHost(entry string) error {
	added, err := CompilePolicy(PolicyRules{Allow: []string{entry}})
	if err != nil {
		return err
	}
	parts := slices.Clone(*p.parts.Load())
	for i, part := range parts {
		wider := *part
		wider.allow = slices.Concat(wider.allow, (*added.parts.Load())[0].allow)
		parts[i] = &wider
	}
	p.parts.Store(&parts)
	return nil
}

// Verdict is the result of a decision: allow, ask or deny.
type Verdict string

// The verdicts, from least to most strict.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Decision is a policy's verdict on a host, with the entry that led to it.
type Decision struct {
	Verdict Verdict
	Rule    string // setting, as network.deny; empty if no entry matches the host
	Entry   string // entry of the setting, as written
	Reason  string // a sentence for the user; empty if allowed
}

// Decide decides on a connection to a host and port without resolving the name. Deny entries override ask entries,
// which override allow entries.
func (p *Policy) Decide(host string, port uint16) Decision {
	t, err := parseHost(host, port)
	if err != nil {
		return Decision{Verdict: Deny, Reason: fmt.Sprintf("network: refused, as %v", err)}
	}
	return p.decideTarget(t)
}

// decideTarget returns the strictest decision of the policy's parts.
func (p *Policy) decideTarget(t target) Decision {
	var strictest Decision
	for _, r := range *p.parts.Load() {
		d := r.decideTarget(t)
		if d.Verdict == Deny {
			return d
		}
		if strictest.Verdict != Ask {
			strictest = d
		}
	}
	return strictest
}

// decideTarget decides on a target by the deny, ask and allow lists.
func (r *compiledRules) decideTarget(t target) Decision {
	for _, e := range r.deny {
		if (e.matchesHost(t) || e.anyName) && e.matchesPortOrAny(t.port) {
			return Decision{Deny, "network.deny", e.text,
				fmt.Sprintf("network: refused %s, which %q denies; setting network.deny", t.displayName(), e.text)}
		}
	}
	allowEntry := r.findEntry(r.allow, t, hostPattern.matchesPortOrStandard)
	askEntry := r.findEntry(r.ask, t, hostPattern.matchesPortOrStandard)
	if askEntry == nil && allowEntry != nil {
		askEntry = r.findEntry(r.ask, t, hostPattern.matchesPortOrAny)
	}
	switch {
	case askEntry != nil:
		return Decision{Ask, "network.ask", askEntry.text,
			fmt.Sprintf("network: refused %s without approval; setting network.ask", t.displayName())}
	case allowEntry != nil:
		return Decision{Verdict: Allow, Rule: "network.allow", Entry: allowEntry.text}
	}
	for _, e := range r.allow {
		if e.matchesHost(t) && e.port != 0 && e.port != t.port {
			return Decision{Verdict: Deny, Reason: fmt.Sprintf("network: refused %s, which is allowed on port %d; setting "+
				"network.allow", t.displayName(), e.port)}
		}
	}
	return Decision{Verdict: Deny, Reason: fmt.Sprintf("network: refused %s; setting network.allow", t.displayName())}
}

// findEntry returns the first entry that matches a target and its port. A special-purpose address matches only entries
// within its special-purpose network.
func (r *compiledRules) findEntry(list []hostPattern, t target, matchesPort func(hostPattern, uint16) bool) *hostPattern {
	for i, e := range list {
		if matchesPort(e, t.port) && e.matchesHost(t) && (t.name != "" || e.isNarrowEnoughForAddr(t.addr)) {
			return &list[i]
		}
	}
	return nil
}

// PermitsAnyProtocol reports whether connections to an allowed host and port may use any protocol, not only TLS and HTTP.
func (p *Policy) PermitsAnyProtocol(host string, port uint16) bool {
	t, err := parseHost(host, port)
	return err == nil && p.permitsAnyProtocol(t)
}

// permitsAnyProtocol reports whether each part of the policy has an entry for any protocol that matches a target.
func (p *Policy) permitsAnyProtocol(t target) bool {
	return !slices.ContainsFunc(*p.parts.Load(), func(r *compiledRules) bool {
		raw := slices.DeleteFunc(slices.Concat(r.allow, r.ask), func(e hostPattern) bool { return !e.raw })
		return r.findEntry(raw, t, hostPattern.matchesPortOrStandard) == nil || r.requestRuleFor(t) != nil
	})
}

// Intersect returns a policy that allows the connections that both policies allow. A nil policy allows all.
func (p *Policy) Intersect(other *Policy) *Policy {
	switch {
	case p == nil:
		return other
	case other == nil:
		return p
	}
	return newPolicy(slices.Concat(*p.parts.Load(), *other.parts.Load())...)
}

// AllowedPorts returns the ports at which some host may be allowed, including always 80 and 443.
func (p *Policy) AllowedPorts() []uint16 {
	count := map[uint16]int{}
	for _, r := range *p.parts.Load() {
		var ports []uint16
		for _, e := range slices.Concat(r.allow, r.ask) {
			if e.port != 0 && !isStandardPort(e.port) {
				ports = append(ports, e.port)
			}
		}
		slices.Sort(ports)
		for _, port := range slices.Compact(ports) {
			count[port]++
		}
	}
	ports := []uint16{80, 443}
	for port, n := range count {
		if n == len(*p.parts.Load()) {
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	return ports
}

// decideNameOnAnyPort decides on a name at any port. It returns the decision for the first port that is not denied,
// otherwise the decision for the first port.
func (p *Policy) decideNameOnAnyPort(name string) Decision {
	var first Decision
	for i, port := range p.AllowedPorts() {
		d := p.decideTarget(target{name: name, port: port})
		if d.Verdict != Deny {
			return d
		}
		if i == 0 {
			first = d
		}
	}
	return first
}

// staticAddrs returns the fixed addresses that the policy has for a name; nil for none.
func (p *Policy) staticAddrs(name string) []netip.Addr {
	for _, r := range *p.parts.Load() {
		if addrs := r.hosts[name]; addrs != nil {
			return addrs
		}
	}
	return nil
}

// allowsResolvedAddr reports whether the proxy may dial an address that a target's name resolved to. Local and
// special-purpose addresses need an entry that names their network.
func (p *Policy) allowsResolvedAddr(t target, addr netip.Addr, local bool) bool {
	addrTarget := target{addr: addr, port: t.port}
	for _, r := range *p.parts.Load() {
		for _, e := range r.deny {
			if e.matchesHost(addrTarget) && e.matchesPortOrAny(t.port) {
				return false
			}
		}
		if !local && specialPrefixLen(addr) == 0 || t.name != "" && slices.Contains(r.hosts[t.name], addr) {
			continue
		}
		if r.findEntry(r.allow, addrTarget, hostPattern.matchesPortOrStandard) == nil && r.findEntry(r.ask, addrTarget, hostPattern.matchesPortOrStandard) == nil {
			return false
		}
	}
	return true
}
