package egress

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// hostPattern is a parsed entry of a host list: a name, all names below a name, a network, or every name.
type hostPattern struct {
	text       string
	name       string       // without the wildcard
	subdomains bool         // matches the names below name, but not name itself
	anyName    bool         // matches every name
	prefix     netip.Prefix // network; invalid for entries by name
	port       uint16       // 0 if the entry has no port
}

// parseHostEntry parses an entry in the form that operators write.
func parseHostEntry(text string) (hostPattern, error) {
	e := hostPattern{text: text}
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
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
	e.name = t.name
	return e, nil
}

// FormatAllowEntry returns the entry of an allow list for a name or address and a port. It omits the ports 80, 443 and 0.
func FormatAllowEntry(host string, port uint16) string {
	if isStandardPort(port) {
		port = 0
	}
	return FormatPortEntry(host, port)
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
