package egress

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// PolicyRules are an operator's rules as written. An entry is a name (api.example.com), all names below one
// (*.example.org), every name that resolves to public addresses (*) or a network (10.0.0.0/8, fd00::/8), optionally
// with a port (files.example.net:8443, [fd00::/8]:443).
//
// Without a port, an entry of Allow or Ask matches the ports 80 and 443, and one of Deny matches all. An entry of Ask
// without a port also matches the ports that Allow opens for the same host.
type PolicyRules struct {
	Allow, Deny, Ask []string

	// Methods maps entries to the only HTTP methods for their hosts. The narrowest matching entry applies.
	Methods map[string][]string

	// Hosts maps names to fixed addresses. They are not resolved, and may be in any network.
	Hosts map[string][]string
}

// compiledRules are parsed PolicyRules.
type compiledRules struct {
	allow, deny, ask []hostPattern
	methods          []methodRule // narrowest first
	hosts            map[string][]netip.Addr
}

// methodRule restricts the HTTP methods of the hosts that its entry matches.
type methodRule struct {
	hostPattern
	list []string
}

// CompilePolicy parses rules and returns their policy. An error names the invalid entry and the correct form.
func CompilePolicy(r PolicyRules) (*Policy, error) {
	c := &compiledRules{hosts: map[string][]netip.Addr{}}
	for _, list := range []struct {
		setting string
		texts   []string
		entries *[]hostPattern
	}{{"network.allow", r.Allow, &c.allow}, {"network.deny", r.Deny, &c.deny}, {"network.ask", r.Ask, &c.ask}} {
		for _, text := range list.texts {
			e, err := parseHostEntry(text)
			if suffix, ok := e.matchedPublicSuffix(); err == nil && ok && list.setting != "network.deny" {
				err = fmt.Errorf("it matches all domains below %s; name individual domains, or write * for all",
					suffix)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", list.setting, text, err)
			}
			*list.entries = append(*list.entries, e)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(r.Methods)) {
		method, err := parseMethodEntry(text, r.Methods[text])
		if err != nil {
			return nil, fmt.Errorf("network.methods: %q: %w", text, err)
		}
		c.methods = append(c.methods, method)
	}
	slices.SortStableFunc(c.methods, func(a, b methodRule) int { return a.compareSpecificity(b.hostPattern) })
	for _, text := range slices.Sorted(maps.Keys(r.Hosts)) {
		t, addrs, err := parseStaticHost(text, r.Hosts[text])
		if err != nil {
			return nil, fmt.Errorf("network.hosts: %q: %w", text, err)
		}
		c.hosts[t] = append(c.hosts[t], addrs...)
	}
	return newPolicy(c), nil
}

func parseMethodEntry(text string, list []string) (methodRule, error) {
	e, err := parseHostEntry(text)
	if err != nil {
		return methodRule{}, err
	}
	if len(list) == 0 {
		return methodRule{}, fmt.Errorf("it has no methods; list some, or add the host to network.deny")
	}
	for _, m := range list {
		if !httpguts.ValidHeaderFieldName(m) || m != strings.ToUpper(m) || m == "CONNECT" {
			return methodRule{}, fmt.Errorf("%q is not a request method; write one such as GET", m)
		}
	}
	return methodRule{e, slices.Clone(list)}, nil
}

// parseStaticHost parses an entry of network.hosts and its list of addresses.
func parseStaticHost(text string, list []string) (string, []netip.Addr, error) {
	t, err := parseHost(text, 0)
	if err == nil && t.name == "" {
		err = fmt.Errorf("its key is an address; write a name")
	}
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("it has no addresses; list those of the host")
	}
	var addrs []netip.Addr
	for _, a := range list {
		addr, bad := netip.ParseAddr(a)
		if bad != nil || addr.Zone() != "" {
			return "", nil, fmt.Errorf("%q is not an IP address; write one such as 10.0.0.5 or fd00::5", a)
		}
		addrs = append(addrs, addr.Unmap())
	}
	return t.name, addrs, err
}

// compareSpecificity orders entries by the number of hosts that they match, from few to many.
func (e hostPattern) compareSpecificity(other hostPattern) int {
	return cmp.Or(
		cmp.Compare(len(other.name), len(e.name)),
		cmp.Compare(other.prefix.Bits(), e.prefix.Bits()),
		cmp.Compare(other.port, e.port),
	)
}
