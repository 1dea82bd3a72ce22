package isolation

import "net"

// Proxied is a network that leads to this process alone. The child has a machine of its own, without any other: names
// are looked up on its port 53, and what connects to the listeners' ports there is accepted here. So whoever serves
// them decides what is reached, and there is no way around it.
type Proxied struct {
	// Name is the same for networks that are the same: what may share a process.
	Name string
	// Ports are those TCP ports that are listened on, on every address of the child's machine, 127.0.0.0/8.
	Ports []uint16
	// Serve is given the listeners while the child starts, and returns at once what ends serving them. That is called
	// when the child has ended and the listeners are closed.
	Serve func(Listeners) (end func()) `json:"-"`
	// Certificates, if there are any, are in PEM those that the child is to believe, at [CertificatesPath].
	Certificates []byte `json:"-"`
}

// ProxyAddress is where a child with a [Proxied] network finds the proxy for HTTP.
const ProxyAddress = "127.0.0.1:3128"

// CertificatesPath is where a child finds its certificates.
const CertificatesPath = "/etc/picoclaw-certificates.pem"

// Listeners are open in the network of a child.
type Listeners struct {
	Proxy net.Listener   // at [ProxyAddress]
	Ports []net.Listener // at each of the ports, in their order
	Names net.PacketConn // at 127.0.0.1:53

	// Room is how many connections this process has descriptors for, beside all else that it has open: each takes two.
	Room int
}

// Close closes all of them.
func (l Listeners) Close() {
	for _, one := range append([]net.Listener{l.Proxy}, l.Ports...) {
		_ = one.Close()
	}
	_ = l.Names.Close()
}
