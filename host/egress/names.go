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

// names answers questions for addresses with local ones, each of which stands for one name, so that a connection to it
// tells which host it is for. Nothing is ever asked elsewhere.
type names struct {
	policy  *Policy
	refused func(target, Decision)

	mu       sync.Mutex
	byName   map[string]*list.Element // of *lease
	byAddr   map[netip.Addr]*list.Element
	used     list.List // the last used first
	size     int
	reported map[string]time.Time
}

// lease is an address that stands for a name.
type lease struct {
	name string
	addr netip.Addr
}

const (
	maxNames = 8192            // leases at once
	lifetime = 60              // seconds that an answer may be kept
	quiet    = 5 * time.Second // a name is reported once in this time
	maxQuiet = 1024            // names that are told apart for it
)

func newNames(p *Policy, refused func(target, Decision)) *names {
	return &names{
		policy:   p,
		refused:  refused,
		byName:   map[string]*list.Element{},
		byAddr:   map[netip.Addr]*list.Element{},
		size:     maxNames,
		reported: map[string]time.Time{},
	}
}

// lookup is the name that an address was handed out for.
func (n *names) lookup(addr netip.Addr) (string, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	e := n.byAddr[addr.Unmap()]
	if e == nil {
		return "", false
	}
	n.used.MoveToFront(e)
	return e.Value.(*lease).name, true
}

// address is the one that stands for a name. The one used least recently is taken if there is no other.
func (n *names) address(name string) netip.Addr {
	n.mu.Lock()
	defer n.mu.Unlock()
	if e := n.byName[name]; e != nil {
		n.used.MoveToFront(e)
		return e.Value.(*lease).addr
	}
	var addr netip.Addr
	if count := n.used.Len(); count < n.size {
		addr = netip.AddrFrom4([4]byte{127, 1, byte((count + 1) >> 8), byte(count + 1)})
	} else {
		old := n.used.Remove(n.used.Back()).(*lease)
		delete(n.byName, old.name)
		addr = old.addr
	}
	e := n.used.PushFront(&lease{name, addr})
	n.byName[name], n.byAddr[addr] = e, e
	return addr
}

// serve answers until the connection is closed.
func (n *names) serve(conn net.PacketConn) {
	buf := make([]byte, 4096)
	for {
		size, from, err := conn.ReadFrom(buf)
		if err != nil {
			return
		}
		if reply := n.answer(buf[:size]); reply != nil {
			_, _ = conn.WriteTo(reply, from) // who asked asks again
		}
	}
}

// answer answers a message; nil for one that is not to be answered.
func (n *names) answer(message []byte) []byte {
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
		reply.Answers, reply.RCode = n.resolve(questions[0])
		reply.Authoritative = true
	}
	packed, err := reply.Pack()
	if err != nil {
		return nil
	}
	return packed
}

func (n *names) resolve(q dnsmessage.Question) ([]dnsmessage.Resource, dnsmessage.RCode) {
	header := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: lifetime}
	v4 := func(addr netip.Addr) []dnsmessage.Resource {
		return []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: addr.As4()}}}
	}
	address := q.Type == dnsmessage.TypeA || q.Type == dnsmessage.TypeAAAA
	t, err := parseHost(q.Name.String(), 0)
	if err != nil || t.name == "" {
		if address {
			n.report(target{name: q.Name.String()}, n.policy.Decide(q.Name.String(), 0))
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
	if d := n.policy.reachable(t.name); d.Verdict == Deny {
		if address {
			n.report(t, d)
		}
		return nil, dnsmessage.RCodeNameError
	}
	if q.Type != dnsmessage.TypeA {
		return nil, dnsmessage.RCodeSuccess
	}
	return v4(n.address(t.name)), dnsmessage.RCodeSuccess
}

// report reports a refusal unless it has just been.
func (n *names) report(t target, d Decision) {
	n.mu.Lock()
	now := time.Now()
	last, known := n.reported[t.name]
	if len(n.reported) >= maxQuiet {
		clear(n.reported)
	}
	fresh := !known || now.Sub(last) > quiet
	if fresh {
		n.reported[t.name] = now
	}
	n.mu.Unlock()
	if fresh {
		n.refused(t, d)
	}
}
