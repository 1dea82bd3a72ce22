package egress

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// target is the host and port of a connection in canonical form: the name in lower-case ASCII, or an address.
type target struct {
	name string     // empty for an address
	addr netip.Addr // without zone; IPv4 in IPv6 form is unmapped
	port uint16
}

func (t target) nameOrAddr() string {
	if t.name != "" {
		return t.name
	}
	return t.addr.String()
}

// localhost is the name of this machine's loopback addresses.
const localhost = "localhost"

// isLoopback reports whether the target is localhost or one of its addresses.
func (t target) isLoopback() bool {
	return t.name == localhost || t.addr == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || t.addr == netip.IPv6Loopback()
}

// String returns host and port as net.Dial takes them.
func (t target) String() string { return net.JoinHostPort(t.nameOrAddr(), strconv.Itoa(int(t.port))) }

// hostHeader returns the target as value of the Host header.
func (t target) hostHeader(scheme string) string {
	if t.port == schemePort(scheme) {
		if t.addr.Is6() {
			return "[" + t.nameOrAddr() + "]"
		}
		return t.nameOrAddr()
	}
	return t.String()
}

// displayName returns the target for messages. It omits ports 80 and 443.
func (t target) displayName() string {
	if isStandardPort(t.port) || t.port == 0 {
		return t.nameOrAddr()
	}
	return t.String()
}

// isStandardPort reports whether an allow entry without a port matches the port.
func isStandardPort(port uint16) bool { return port == 80 || port == 443 }

func schemePort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// maxHostText limits the length of a host in bytes. It exceeds the length of every valid name.
const maxHostText = 1024

// parseHost parses a name or address. It rejects ambiguous forms: octal addresses, zones, NUL bytes, empty labels.
func parseHost(text string, port uint16) (target, error) {
	if len(text) > maxHostText {
		return target{}, fmt.Errorf("%.20q and %d more bytes are not a host name", text, len(text)-20)
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok || !strings.Contains(inner, ":") {
			return target{}, fmt.Errorf("%q is not an IPv6 address in brackets", text)
		}
		text = inner
	}
	if strings.Contains(text, ":") {
		return parseAddress(text, port)
	}
	name, ascii := strings.TrimSuffix(text, "."), true
	for i := range len(name) {
		switch c := name[i]; {
		case c >= 0x80:
			ascii = false
		case 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '_' || c == '.':
		default:
			return target{}, fmt.Errorf("%q is not a host name: it contains %q", text, c)
		}
	}
	name = strings.ToLower(name)
	if ascii && looksLikeIPv4(name) {
		return parseAddress(name, port)
	}
	if !ascii || strings.HasPrefix(name, "xn--") || strings.Contains(name, ".xn--") {
		var err error
		if name, err = idna.Lookup.ToASCII(name); err != nil {
			return target{}, fmt.Errorf("%q is not a host name: %w", text, err)
		}
	}
	if err := checkHostName(name); err != nil {
		return target{}, fmt.Errorf("%q is not a host name: %w", text, err)
	}
	return target{name: name, port: port}, nil
}

// parseAddress parses an address in its canonical form.
func parseAddress(text string, port uint16) (target, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return target{}, fmt.Errorf("%q is neither a host name nor an address in canonical form", text)
	}
	return target{addr: addr.Unmap(), port: port}, nil
}

// parseHostPort parses a host with an optional port, as in a CONNECT request or a Host header. port is the default.
func parseHostPort(text string, port uint16) (target, error) {
	host := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		n, err := parsePort(text[i+1:])
		if err != nil {
			return target{}, fmt.Errorf("%q: %w", text, err)
		}
		host, port = text[:i], n
		if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			return target{}, fmt.Errorf("%q is ambiguous: write an IPv6 address in brackets", text)
		}
	}
	if port == 0 {
		return target{}, fmt.Errorf("%q has no port", text)
	}
	return parseHost(host, port)
}

// parsePort parses a port number without sign or leading zeros.
func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' || text[0] == '+' {
		return 0, fmt.Errorf("%q is not a port: a port is a number from 1 to 65535", text)
	}
	return uint16(n), nil
}

// looksLikeIPv4 reports whether programs may parse a name as an IPv4 address, because its last label is a number.
func looksLikeIPv4(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	return strings.HasPrefix(last, "0x") || last != "" && strings.Trim(last, "0123456789") == ""
}

// checkHostName returns an error if a lower-case ASCII name is no valid host name.
func checkHostName(name string) error {
	if name == "" || len(name) > 253 {
		return errors.New("a name has from 1 to 253 characters")
	}
	if looksLikeIPv4(name) {
		return errors.New("it could be read as an address")
	}
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > 63 {
			return errors.New("a label has from 1 to 63 characters")
		}
		if label[0] == '-' || label[len(label)-1] == '-' {
			return errors.New("a label neither begins nor ends with a hyphen")
		}
		for i := range len(label) {
			if c := label[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return fmt.Errorf("it contains %q", c)
			}
		}
	}
	return nil
}

// specialPrefixLen returns the prefix length of the narrowest special-purpose network of an address; 0 for none.
func specialPrefixLen(addr netip.Addr) int {
	bits := 0
	for _, text := range specialNetworks {
		if prefix := netip.MustParsePrefix(text); prefix.Contains(addr) {
			bits = max(bits, prefix.Bits())
		}
	}
	return bits
}

// specialNetworks are networks that a name may resolve to only if an operator allows the network. Translation networks
// are included because they lead to all others.
var specialNetworks = [...]string{
	"0.0.0.0/8", "127.0.0.0/8", "::/96", // unspecified, loopback, IPv4-compatible
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10", // private
	"100.64.0.0/10",               // carrier-grade NAT
	"169.254.0.0/16", "fe80::/10", // link-local
	"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "100.100.100.200/32", "168.63.129.16/32",
	"192.0.0.192/32", "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128", // cloud metadata services
	"224.0.0.0/4", "240.0.0.0/4", "ff00::/8", // multicast, reserved, broadcast
	"192.0.0.0/24", "2001::/23", // protocol assignments, among them Teredo
	"64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "192.88.99.0/24", "::ffff:0:0/96", "::ffff:0:0:0/96", // IPv6 translation
	"100::/64", "5f00::/16",
}

func machineAddrs() []netip.Addr {
	found, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var addrs []netip.Addr
	for _, a := range found {
		if n, ok := a.(*net.IPNet); ok {
			if addr, ok := netip.AddrFromSlice(n.IP); ok {
				addrs = append(addrs, addr.Unmap())
			}
		}
	}
	return addrs
}
