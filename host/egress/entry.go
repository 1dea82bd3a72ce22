package egress

import (
	"fmt"
	"net/netip"
	"strings"

	"golang.org/x/net/publicsuffix"
)

// entry is one line of a list: a name, all names below one, a network, or every name.
type entry struct {
	text   string
	name   string       // a name, without the wildcard
	below  bool         // stands for the names below name, and not for name
	any    bool         // stands for every name
	prefix netip.Prefix // stands for addresses
	port   uint16       // 0 for an entry without one
}

// parseEntry reads an entry as an operator writes it.
func parseEntry(text string) (entry, error) {
	e := entry{text: text}
	if scheme, rest, ok := strings.Cut(text, "://"); ok {
		host, _, _ := strings.Cut(rest, "/")
		return e, fmt.Errorf("it is a URL of %s; write the host alone, such as %s", scheme, host)
	}
	if strings.Contains(text, "/") {
		return parseNetwork(text)
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
		e.any = true
		return e, nil
	}
	host, e.below = strings.CutPrefix(host, "*.")
	if strings.Contains(host, "*") {
		return e, fmt.Errorf("a * stands only for the whole of an entry or for the first label; write *.example.org")
	}
	t, err := parseHost(host, e.port)
	switch {
	case err != nil:
		return e, fmt.Errorf("%w; write a name such as api.example.com, or a network such as 10.0.0.0/8", err)
	case t.name == "":
		return e, fmt.Errorf("an address stands as a network; write %v/%d", t.addr, t.addr.BitLen())
	}
	e.name = t.name
	return e, nil
}

// parseNetwork reads 10.0.0.0/8, 10.0.0.0/8:8080, fd00::/8 or [fd00::/8]:443.
func parseNetwork(text string) (entry, error) {
	e := entry{text: text}
	network, port, found := strings.TrimPrefix(text, "["), "", false
	if network != text {
		if network, port, found = strings.Cut(network, "]"); !found || port != "" && port[0] != ':' {
			return e, fmt.Errorf("it has a bracket too few or too many; write [fd00::/8]:443")
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
		return e, fmt.Errorf("it is no network; write one such as 10.0.0.0/8 or fd00::/8, and no scheme or path")
	case prefix.Addr().Is4In6():
		return e, fmt.Errorf("it is a network of IPv4 in the form of IPv6; write it as IPv4")
	case prefix != prefix.Masked():
		return e, fmt.Errorf("its address goes beyond its length; write %v", prefix.Masked())
	}
	e.prefix = prefix
	return e, nil
}

// public reports the public suffix that an entry would stand for all names of, such as com or co.uk.
func (e entry) public() (suffix string, ok bool) {
	if !e.below {
		return "", false
	}
	suffix, icann := publicsuffix.PublicSuffix(e.name)
	return suffix, suffix == e.name && (icann || strings.Contains(suffix, "."))
}

// is reports whether an entry stands for a target, whatever the port.
func (e entry) is(t target) bool {
	switch {
	case e.prefix.IsValid():
		return t.name == "" && e.prefix.Contains(t.addr)
	case t.name == "":
		return false
	case e.any:
		return true
	case e.below:
		return strings.HasSuffix(t.name, "."+e.name)
	}
	return t.name == e.name
}

// open reports whether an entry that opens something does so on a port.
func (e entry) open(port uint16) bool { return port == e.port || e.port == 0 && standard(port) }

// every reports whether an entry that closes something, or says more of it, does so on a port.
func (e entry) every(port uint16) bool { return port == e.port || e.port == 0 }

// names reports whether an entry stands for an address so narrowly that it means it: 0.0.0.0/0 doesn't mean loopback.
func (e entry) names(addr netip.Addr) bool {
	return e.prefix.IsValid() && e.prefix.Contains(addr) && e.prefix.Bits() >= reserved(addr)
}
