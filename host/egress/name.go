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

// target is one end of a connection as everything here compares it: a name in lower case and ASCII, or an address.
type target struct {
	name string     // empty for an address
	addr netip.Addr // without zone, and never an IPv4 address in the form of IPv6
	port uint16
}

// host is the name or the address.
func (t target) host() string {
	if t.name != "" {
		return t.name
	}
	return t.addr.String()
}

// String is the target with its port, as net.Dial takes it.
func (t target) String() string { return net.JoinHostPort(t.host(), strconv.Itoa(int(t.port))) }

// authority is the target as a Host header has it.
func (t target) authority(scheme string) string {
	if t.port == standardPort(scheme) {
		if t.addr.Is6() {
			return "[" + t.host() + "]"
		}
		return t.host()
	}
	return t.String()
}

// shown is the target as a person reads it: the port is left out where it goes without saying.
func (t target) shown() string {
	if standard(t.port) || t.port == 0 {
		return t.host()
	}
	return t.String()
}

// standard reports whether a port is one that an entry without a port stands for.
func standard(port uint16) bool { return port == 80 || port == 443 }

func standardPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// maxText is longer than the longest name in any script.
const maxText = 1024

// parseHost makes a target of a name or an address. What two programs could read in two ways is an error: an address in
// octal, a zone, a NUL or an empty label.
func parseHost(text string, port uint16) (target, error) {
	if len(text) > maxText {
		return target{}, fmt.Errorf("%.20q and %d bytes more are no host name", text, len(text)-20)
	}
	if inner, ok := strings.CutPrefix(text, "["); ok {
		inner, ok = strings.CutSuffix(inner, "]")
		if !ok || !strings.Contains(inner, ":") {
			return target{}, fmt.Errorf("%q is no address in brackets", text)
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
			return target{}, fmt.Errorf("%q is no host name: it has a character %q", text, c)
		}
	}
	name = strings.ToLower(name)
	if ascii && numeric(name) {
		return parseAddress(name, port)
	}
	if !ascii || strings.HasPrefix(name, "xn--") || strings.Contains(name, ".xn--") {
		var err error
		if name, err = idna.Lookup.ToASCII(name); err != nil {
			return target{}, fmt.Errorf("%q is no host name: %w", text, err)
		}
	}
	if err := checkName(name); err != nil {
		return target{}, fmt.Errorf("%q is no host name: %w", text, err)
	}
	return target{name: name, port: port}, nil
}

// parseAddress takes an address in its one usual form.
func parseAddress(text string, port uint16) (target, error) {
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return target{}, fmt.Errorf("%q is neither a host name nor an address as it is usually written", text)
	}
	return target{addr: addr.Unmap(), port: port}, nil
}

// parseAuthority takes a host with a port, as in a CONNECT request or a Host header.
func parseAuthority(text string, port uint16) (target, error) {
	host := text
	if i := strings.LastIndexByte(text, ':'); i >= 0 && !strings.HasSuffix(text, "]") {
		n, err := parsePort(text[i+1:])
		if err != nil {
			return target{}, fmt.Errorf("%q: %w", text, err)
		}
		host, port = text[:i], n
		if strings.Contains(host, ":") && !strings.HasPrefix(host, "[") {
			return target{}, fmt.Errorf("%q is ambiguous: an IPv6 address stands in brackets", text)
		}
	}
	if port == 0 {
		return target{}, fmt.Errorf("%q has no port", text)
	}
	return parseHost(host, port)
}

func parsePort(text string) (uint16, error) {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 || text[0] == '0' || text[0] == '+' {
		return 0, fmt.Errorf("%q is no port: a port is a number from 1 to 65535", text)
	}
	return uint16(n), nil
}

// numeric reports whether programs take a name for an IPv4 address: its last label is a number, maybe in hexadecimal.
func numeric(name string) bool {
	last := name[strings.LastIndexByte(name, '.')+1:]
	if strings.HasPrefix(last, "0x") {
		return true
	}
	return last != "" && strings.Trim(last, "0123456789") == ""
}

// checkName checks a name in lower case and ASCII.
func checkName(name string) error {
	if name == "" || len(name) > 253 {
		return errors.New("a name has from 1 to 253 characters")
	}
	if numeric(name) {
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
				return fmt.Errorf("it has a character %q", c)
			}
		}
	}
	return nil
}

// reserved is the length of the narrowest network that is not the public's and has an address, 0 if there is none.
// A name that resolves to such an address is no reason to connect to it.
func reserved(addr netip.Addr) int {
	bits := 0
	for _, text := range networks {
		if prefix := netip.MustParsePrefix(text); prefix.Contains(addr) {
			bits = max(bits, prefix.Bits())
		}
	}
	return bits
}

// networks are those that no name has a business in unless an operator names them. Ones that translate to IPv4 are here
// because they reach all the others.
var networks = [...]string{
	"0.0.0.0/8", "127.0.0.0/8", "::/96", // unspecified, loopback, IPv4 in the old form
	"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7", "fec0::/10", // private
	"100.64.0.0/10",               // of carriers
	"169.254.0.0/16", "fe80::/10", // of a link
	"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "100.100.100.200/32", "168.63.129.16/32",
	"192.0.0.192/32", "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128", // what clouds tell their machines
	"224.0.0.0/4", "240.0.0.0/4", "ff00::/8", // multicast, future use with broadcast
	"192.0.0.0/24", "2001::/23", // protocols, Teredo among them
	"64:ff9b::/96", "64:ff9b:1::/48", "2002::/16", "192.88.99.0/24", "::ffff:0:0/96", "::ffff:0:0:0/96", // translation
	"100::/64", "5f00::/16",
}

// own returns the addresses of this machine.
func own() []netip.Addr {
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
