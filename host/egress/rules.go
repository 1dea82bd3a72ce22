package egress

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// PolicyRules are an operator's rules as written. An entry is a name (api.example.com), all names below one
// (*.example.org), every name that resolves to public addresses (*) or a network (10.0.0.0/8, fd00::/8), optionally
// with a port (files.example.net:8443, [fd00::/8]:443). An entry with a port permits TLS and HTTP, and any protocol if it
// begins with tcp:// (tcp://db.example.net:5432).
//
// Without a port, an entry of Allow or Ask matches the ports 80 and 443, and one of Deny matches all. An entry of Ask
// without a port also matches the ports that Allow opens for the same host.
type PolicyRules struct {
	Allow, Deny, Ask []string

	// Requests maps entries to the only HTTP requests for their hosts, each a method and a path: GET /me/**, or with ! one
	// that is denied. Methods is the same for any path. The narrowest matching entry of both applies.
	Requests, Methods map[string][]string

	// Hosts maps names to fixed addresses. They are not resolved, and may be in any network.
	Hosts map[string][]string
}

// compiledRules are parsed PolicyRules.
type compiledRules struct {
	allow, deny, ask []hostPattern
	requests         []requestRule // narrowest first
	hosts            map[string][]netip.Addr
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
	settings := map[hostPattern]string{}
	for setting, rules := range map[string]map[string][]string{"network.methods": r.Methods, "network.requests": r.Requests} {
		for _, text := range slices.Sorted(maps.Keys(rules)) {
			rule, err := parseRequestRule(setting, text, rules[text])
			hosts := rule.hostPattern
			hosts.text = ""
			if other := settings[hosts]; err == nil && other != "" {
				err = fmt.Errorf("%s has the host, too; write its methods as requests, such as GET /**", other)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", setting, text, err)
			}
			settings[hosts] = setting
			c.requests = append(c.requests, rule)
		}
	}
	for _, e := range slices.Concat(c.allow, c.ask) {
		if m := c.requestRuleFor(target{name: e.name, addr: e.prefix.Addr(), port: e.port}); m != nil && strings.HasPrefix(e.text, "tcp://") {
			return nil, fmt.Errorf("%s: %q restricts HTTP requests to the host of %q, which allows any protocol; remove one",
				m.setting, m.text, e.text)
		}
	}
	slices.SortStableFunc(c.requests, func(a, b requestRule) int { return a.compareSpecificity(b.hostPattern) })
	for _, text := range slices.Sorted(maps.Keys(r.Hosts)) {
		t, addrs, err := parseStaticHost(text, r.Hosts[text])
		if err != nil {
			return nil, fmt.Errorf("network.hosts: %q: %w", text, err)
		}
		c.hosts[t] = append(c.hosts[t], addrs...)
	}
	return newPolicy(c), nil
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

// hostPattern is a parsed entry of a host list: a name, all names below a name, a network, or every name.
type hostPattern struct {
	text       string
	name       string       // without the wildcard
	subdomains bool         // matches the names below name, but not name itself
	anyName    bool         // matches every name
	prefix     netip.Prefix // network; invalid for entries by name
	port       uint16       // 0 if the entry has no port
	raw        bool         // permits any protocol
}

// parseHostEntry parses an entry in the form that operators write.
func parseHostEntry(text string) (hostPattern, error) {
	e := hostPattern{text: text}
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		if scheme == "tcp" {
			raw, err := parseHostEntry(rest)
			if err == nil && raw.port == 0 {
				err = fmt.Errorf("it has no port; write one such as %s:5432", text)
			}
			raw.text, raw.raw = text, true
			return raw, err
		}
		host, _, _ := strings.Cut(rest, "/")
		return e, fmt.Errorf("it is a URL with the scheme %s; write only the host, %s", scheme, host)
	}
	if strings.Contains(text, "/") {
		return parseNetworkEntry(text)
	}
	host := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 && strings.Count(text, ":") == 1 {
		port, err := parsePort(text[i+1:])
		if err != nil {
			return e, err
		}
		host, e.port = text[:i], port
	}
	if host == "*" {
		e.anyName = true
		return e, nil
	}
	host, e.subdomains = strings.CutPrefix(host, "*.")
	if strings.Contains(host, "*") {
		return e, fmt.Errorf("* must be the whole entry or its first label, as in *.example.org")
	}
	t, err := parseHost(host, e.port)
	switch {
	case err != nil:
		return e, fmt.Errorf("%w; write a name such as api.example.com, or a network such as 10.0.0.0/8", err)
	case t.name == "":
		return e, fmt.Errorf("an address must be written as a network, %v/%d%s", t.addr, t.addr.BitLen(), text[len(host):])
	}
	e.name, e.raw = t.name, t.name == localhost && e.port != 0
	return e, nil
}

// FormatAllowEntry returns the entry of an allow list for a name or address and a port. It omits the ports 80, 443 and 0.
func FormatAllowEntry(host string, port uint16) string {
	if isStandardPort(port) {
		port = 0
	}
	return FormatPortEntry(host, port)
}

// FormatURLEntry returns the entry for the host and port of a URL, and whether the URL requires TLS.
func FormatURLEntry(text string) (entry string, isTLS bool, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", false, err
	}
	isTLS = u.Scheme == "https"
	port, err := strconv.ParseUint(cmp.Or(u.Port(), map[bool]string{false: "80", true: "443"}[isTLS]), 10, 16)
	return FormatPortEntry(u.Hostname(), uint16(port)), isTLS, err
}

// FormatPortEntry returns the entry of an allow list for a name or address and one port; 0 means the ports 80 and 443.
func FormatPortEntry(host string, port uint16) string {
	suffix := ""
	if port != 0 {
		suffix = fmt.Sprintf(":%d", port)
	}
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return host + suffix
	}
	entry := netip.PrefixFrom(addr, addr.BitLen()).String()
	if addr.Is6() && suffix != "" {
		entry = "[" + entry + "]"
	}
	return entry + suffix
}

// parseNetworkEntry parses a network with an optional port: 10.0.0.0/8, 10.0.0.0/8:8080, fd00::/8 or [fd00::/8]:443.
func parseNetworkEntry(text string) (hostPattern, error) {
	e := hostPattern{text: text}
	network, port, found := strings.TrimPrefix(text, "["), "", false
	if network != text {
		if network, port, found = strings.Cut(network, "]"); !found || port != "" && port[0] != ':' {
			return e, fmt.Errorf("its brackets do not match; write [fd00::/8]:443")
		}
		port, found = strings.CutPrefix(port, ":")
	} else if slash := strings.IndexByte(text, '/'); strings.Contains(text[slash:], ":") {
		i := slash + strings.IndexByte(text[slash:], ':')
		network, port, found = text[:i], text[i+1:], true
	}
	if found {
		n, err := parsePort(port)
		if err != nil {
			return e, err
		}
		e.port = n
	}
	prefix, err := netip.ParsePrefix(network)
	switch {
	case err != nil:
		return e, fmt.Errorf("it is not a network; write one such as 10.0.0.0/8 or fd00::/8, without scheme or path")
	case prefix.Addr().Is4In6():
		return e, fmt.Errorf("it is an IPv4 network in IPv6 form; write it as IPv4")
	case prefix != prefix.Masked():
		return e, fmt.Errorf("its address has bits beyond the prefix length; write %v", prefix.Masked())
	}
	e.prefix = prefix
	return e, nil
}

// matchedPublicSuffix returns the public suffix, such as com or co.uk, if the entry matches all its domains.
func (e hostPattern) matchedPublicSuffix() (suffix string, ok bool) {
	if !e.subdomains {
		return "", false
	}
	suffix, icann := publicsuffix.PublicSuffix(e.name)
	return suffix, suffix == e.name && (icann || strings.Contains(suffix, "."))
}

// matchesHost reports whether the entry matches a target's host on any port. localhost matches its addresses, too.
func (e hostPattern) matchesHost(t target) bool {
	switch {
	case e.prefix.IsValid():
		return t.name == "" && e.prefix.Contains(t.addr)
	case t.name == "":
		return t.isLoopback() && e.name == localhost && !e.subdomains
	case e.anyName:
		return true
	case e.subdomains:
		return strings.HasSuffix(t.name, "."+e.name)
	}
	return t.name == e.name
}

// matchesPortOrStandard reports whether an allow or ask entry matches a port. Without a port it matches 80 and 443.
func (e hostPattern) matchesPortOrStandard(port uint16) bool {
	return port == e.port || e.port == 0 && isStandardPort(port)
}

// matchesPortOrAny reports whether a deny or method entry matches a port. Without a port it matches all.
func (e hostPattern) matchesPortOrAny(port uint16) bool { return port == e.port || e.port == 0 }

// isNarrowEnoughForAddr reports whether an entry that matches addr lies within the special-purpose network of addr. So
// 0.0.0.0/0 does not match loopback addresses.
func (e hostPattern) isNarrowEnoughForAddr(addr netip.Addr) bool {
	return !e.prefix.IsValid() || e.prefix.Bits() >= specialPrefixLen(addr)
}
