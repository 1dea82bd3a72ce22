package egress

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Policy says which hosts may be connected to. It never changes.
type Policy struct {
	parts []*rules // each has to agree
}

// Verdict is what a policy says of a host.
type Verdict string

// The verdicts, from the mildest to the strictest.
const (
	Allow Verdict = "allow"
	Ask   Verdict = "ask"
	Deny  Verdict = "deny"
)

// Decision is a verdict with what it comes from.
type Decision struct {
	Verdict Verdict
	Rule    string // the setting, such as network.deny; empty if no entry stands for the host
	Entry   string // the entry of the setting, as written
	Reason  string // a sentence, for all that is not allowed
}

// Decide says whether a host may be connected to on a port. It resolves nothing. Deny goes before ask, and ask before
// allow.
func (p *Policy) Decide(host string, port uint16) Decision {
	t, err := parseHost(host, port)
	if err != nil {
		return Decision{Verdict: Deny, Reason: fmt.Sprintf("network: refused, as %v", err)}
	}
	return p.decide(t)
}

func (p *Policy) decide(t target) Decision {
	var strictest Decision
	for _, r := range p.parts {
		d := r.decide(t)
		if d.Verdict == Deny {
			return d
		}
		if strictest.Verdict != Ask {
			strictest = d
		}
	}
	return strictest
}

func (r *rules) decide(t target) Decision {
	for _, e := range r.deny {
		if (e.is(t) || e.any) && e.every(t.port) {
			return Decision{Deny, "network.deny", e.text,
				fmt.Sprintf("network: refused %s, which %q denies; setting network.deny", t.shown(), e.text)}
		}
	}
	allowed := r.find(r.allow, t, entry.open)
	asked := r.find(r.ask, t, entry.open)
	if asked == nil && allowed != nil {
		asked = r.find(r.ask, t, entry.every)
	}
	switch {
	case asked != nil:
		return Decision{Ask, "network.ask", asked.text,
			fmt.Sprintf("network: refused %s, as nobody agreed to it; setting network.ask", t.shown())}
	case allowed != nil:
		return Decision{Verdict: Allow, Rule: "network.allow", Entry: allowed.text}
	}
	for _, e := range r.allow {
		if e.is(t) && e.port != 0 && e.port != t.port {
			return Decision{Verdict: Deny, Reason: fmt.Sprintf("network: refused %s, which is allowed on port %d; setting "+
				"network.allow", t.shown(), e.port)}
		}
	}
	return Decision{Verdict: Deny, Reason: fmt.Sprintf("network: refused %s; setting network.allow", t.shown())}
}

// find finds the first entry that stands for a target on its port.
func (r *rules) find(list []entry, t target, on func(entry, uint16) bool) *entry {
	for i, e := range list {
		if on(e, t.port) && e.is(t) && (t.name != "" || e.names(t.addr)) {
			return &list[i]
		}
	}
	return nil
}

// And is the policy that allows what both allow. Either may be nil, for one that has no say.
func (p *Policy) And(other *Policy) *Policy {
	switch {
	case p == nil:
		return other
	case other == nil:
		return p
	}
	return &Policy{parts: slices.Concat(p.parts, other.parts)}
}

// Ports are those on which some host may be reached, with 80 and 443 in any case.
func (p *Policy) Ports() []uint16 {
	count := map[uint16]int{}
	for _, r := range p.parts {
		var ports []uint16
		for _, e := range slices.Concat(r.allow, r.ask) {
			if e.port != 0 && !standard(e.port) {
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
		if n == len(p.parts) {
			ports = append(ports, port)
		}
	}
	slices.Sort(ports)
	return ports
}

// Digest is a text that is the same for policies with the same entries, in whatever order.
func (p *Policy) Digest() string {
	var parts []string
	for _, r := range p.parts {
		parts = append(parts, r.digest)
	}
	slices.Sort(parts)
	return strings.Join(slices.Compact(parts), "\nand\n")
}

// reachable decides on a name for the port where most is open, or for the first.
func (p *Policy) reachable(name string) Decision {
	var first Decision
	for i, port := range p.Ports() {
		d := p.decide(target{name: name, port: port})
		if d.Verdict != Deny {
			return d
		}
		if i == 0 {
			first = d
		}
	}
	return first
}

// method decides on a method of a request.
func (p *Policy) method(t target, method string) (Decision, bool) {
	for _, r := range p.parts {
		if m := r.limited(t); m != nil && !slices.Contains(m.list, method) {
			return Decision{Deny, "network.methods", m.text, fmt.Sprintf(
				"network: refused %.32q to %s, which takes only %s; setting network.methods",
				method, t.shown(), strings.Join(m.list, ", "))}, false
		}
	}
	return Decision{}, true
}

// limited finds the methods that hold for a target; nil for all.
func (r *rules) limited(t target) *methods {
	for i, m := range r.methods {
		if m.is(t) && m.every(t.port) {
			return &r.methods[i]
		}
	}
	return nil
}

// known are the addresses of a name that need no looking up.
func (p *Policy) known(name string) []netip.Addr {
	for _, r := range p.parts {
		if addrs := r.hosts[name]; addrs != nil {
			return addrs
		}
	}
	return nil
}

// reaches reports whether a target may be connected to at an address that it resolved to.
func (p *Policy) reaches(t target, addr netip.Addr, own bool) bool {
	at := target{addr: addr, port: t.port}
	for _, r := range p.parts {
		for _, e := range r.deny {
			if e.is(at) && e.every(t.port) {
				return false
			}
		}
		if !own && reserved(addr) == 0 || t.name != "" && slices.Contains(r.hosts[t.name], addr) {
			continue
		}
		if r.find(r.allow, at, entry.open) == nil && r.find(r.ask, at, entry.open) == nil {
			return false
		}
	}
	return true
}
