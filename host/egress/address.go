package egress

import (
	"net"
	"net/netip"
)

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
