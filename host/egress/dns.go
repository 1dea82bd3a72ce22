package egress

import (
	"container/list"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// dnsServer answers DNS queries with local addresses. Each address is assigned to one name, so the address of a later
// connection identifies its host. The server never forwards queries.
type dnsServer struct {
	policy        *Policy
	addresses     netip.Prefix // of all names
	reportRefusal func(target, Decision)

	mu         sync.Mutex
	byName     map[string]*list.Element // of *addrLease
	byAddr     map[netip.Addr]*list.Element
	leases     list.List // most recently used first
	maxLeases  int
	reportedAt map[string]time.Time
}

// addrLease is the assignment of an address to a name.
type addrLease struct {
	name string
	addr netip.Addr
}

const (
	defaultLeases  = 8192            // addresses assigned at once
	answerTTL      = 60              // seconds
	reportInterval = 5 * time.Second // minimum time between reports of one name
	maxReported    = 1024            // names tracked for it
)

// newDNSServer returns a DNS server that passes refused names to refused. addresses has 16 bits for names.
func newDNSServer(p *Policy, addresses netip.Prefix, refused func(target, Decision)) *dnsServer {
	return &dnsServer{
		policy:        p,
		addresses:     addresses,
		reportRefusal: refused,
		byName:        map[string]*list.Element{},
		byAddr:        map[netip.Addr]*list.Element{},
		maxLeases:     defaultLeases,
		reportedAt:    map[string]time.Time{},
	}
}

func (n *dnsServer) nameOfAddr(addr netip.Addr) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.byAddr[addr.Unmap()]
	if e == nil {
		return "", false
	}
	n.leases.MoveToFront(e)
	return e.Value.(*addrLease).name, true
}

// assignAddr returns the address that is assigned to a name. A new name gets a free address, or else the address of the
// least recently used name.
func (n *dnsServer) assignAddr(name string) netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.byName[name]; e != nil {
		n.leases.MoveToFront(e)
		return e.Value.(*addrLease).addr
	}
	var addr netip.Addr
	if count := n.leases.Len(); count < n.maxLeases {
		bytes := n.addresses.Addr().As4()
		bytes[2], bytes[3] = byte((count+1)>>8), byte(count+1)
		addr = netip.AddrFrom4(bytes)
	} else {
		old := n.leases.Remove(n.leases.Back()).(*addrLease)
		delete(n.byName, old.name)
		addr = old.addr
	}
	e := n.leases.PushFront(&addrLease{name, addr})
	n.byName[name], n.byAddr[addr] = e, e
	return addr
}

// servePackets answers queries until the connection is closed.
func (n *dnsServer) servePackets(conn net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		size, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := n.answerMessage(buf[:size]); reply != nil {
			_, _ = conn.WriteTo(reply, from) // the client retries
		}
	}
}

// answerMessage returns the response to a DNS message; nil if it needs none.
func (n *dnsServer) answerMessage(message []byte) []byte {
	var parser dnsmessage.Parser
	header, err := parser.Start(message)
	if err != nil || header.Response {
		return nil
	}
	reply := dnsmessage.Message{Header: dnsmessage.Header{
		ID: header.ID, Response: true, OpCode: header.OpCode,
		RecursionDesired: header.RecursionDesired, RecursionAvailable: true,
	}}
	questions, err := parser.AllQuestions()
	switch {
	case header.OpCode != 0:
		reply.RCode = dnsmessage.RCodeNotImplemented
	case err != nil || len(questions) != 1:
		reply.RCode = dnsmessage.RCodeFormatError
	case questions[0].Class != dnsmessage.ClassINET:
		reply.Questions, reply.RCode = questions, dnsmessage.RCodeRefused
	default:
		reply.Questions = questions
		reply.Answers, reply.RCode = n.answerQuestion(questions[0])
		reply.Authoritative = true
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}

// answerQuestion answers one question with the address for the name. It reports a refused name.
func (n *dnsServer) answerQuestion(q dnsmessage.Question) ([]dnsmessage.Resource, dnsmessage.RCode) {
	header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: answerTTL}
	v4 := func(addr netip.Addr) []dnsmessage.Resource {
		return []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}}}
	}
	address := q.Type == dnsmessage.TypeA || q.Type == dnsmessage.TypeAAAA
	t, err := parseHost(q.Name.String(), 0)
	if err != nil || t.name == "" {
		if address {
			n.reportRefusalThrottled(target{name: q.Name.String()}, n.policy.Decide(q.Name.String(), 0))
		}
		return nil, dnsmessage.RCodeNameError
	}
	if t.name == "localhost" || strings.HasSuffix(t.name, ".localhost") {
		switch q.Type {
		case dnsmessage.TypeA:
			return v4(netip.AddrFrom4([4]byte{127, 0, 0, 1})), dnsmessage.RCodeSuccess
		case dnsmessage.TypeAAAA:
			body := &dnsmessage.AAAAResource{AAAA: netip.IPv6Loopback().As16()}
			return []dnsmessage.Resource{{Header: header, Body: body}}, dnsmessage.RCodeSuccess
		}
		return nil, dnsmessage.RCodeSuccess
	}
	if d := n.policy.decideNameOnAnyPort(t.name); d.Verdict == Deny {
		if address {
			n.reportRefusalThrottled(t, d)
		}
		return nil, dnsmessage.RCodeNameError
	}
	if q.Type != dnsmessage.TypeA {
		return nil, dnsmessage.RCodeSuccess
	}
	return v4(n.assignAddr(t.name)), dnsmessage.RCodeSuccess
}

// reportRefusalThrottled reports a refusal, unless the same name was reported within reportInterval.
func (n *dnsServer) reportRefusalThrottled(t target, d Decision) {
	n.mu.Lock()
	now := time.Now()
	last, known := n.reportedAt[t.name]
	if len(n.reportedAt) >= maxReported {
		clear(n.reportedAt)
	}
	due := !known || now.Sub(last) > reportInterval
	if due {
		n.reportedAt[t.name] = now
	}
	n.mu.Unlock()
	if due {
		n.reportRefusal(t, d)
	}
}
