package egress

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"testing"

	"golang.org/x/net/dns/dnsmessage"
)

// question is a message of DNS that asks for a name.
func question(t testing.TB, name string, kind dnsmessage.Type) []byte {
	t.Helper()
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: 7, RecursionDesired: true}}
	q := dnsmessage.Question{Name: dnsmessage.MustNewName(name), Type: kind, Class: dnsmessage.ClassINET}
	m.Questions = []dnsmessage.Question{q}
	b, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// ask has a message answered.
func ask(t testing.TB, n *dnsServer, name string, kind dnsmessage.Type) dnsmessage.Message {
	t.Helper()
	var m dnsmessage.Message
	if err := m.Unpack(n.answerMessage(question(t, name, kind))); err != nil {
		t.Fatal(err)
	}
	if m.ID != 7 || !m.Response || len(m.Questions) != 1 {
		t.Errorf("%v", m)
	}
	return m
}

func TestDNSAnswers(t *testing.T) {
	var refused []string
	n := newDNSServer(compile(t, PolicyRules{
		Allow: []string{"*.example.org", "files.example.net:8443", "bücher.example"}, Ask: []string{"ask.example.com"},
		Deny: []string{"admin.example.org"},
	}), netip.MustParsePrefix("127.1.0.0/16"), func(t target, d Decision) { refused = append(refused, t.nameOrAddr()+" "+d.Rule) })

	for name, want := range map[string]dnsmessage.RCode{
		"a.example.org.": 0, "A.EXAMPLE.org.": 0, "files.example.net.": 0, "ask.example.com.": 0, "localhost.": 0,
		"xn--bcher-kva.example.": 0,
		"admin.example.org.":     dnsmessage.RCodeNameError, "example.org.": dnsmessage.RCodeNameError,
		"data.evil.test.": dnsmessage.RCodeNameError, "evil\x00.example.org.": dnsmessage.RCodeNameError,
		"10.0.0.1.": dnsmessage.RCodeNameError, ".": dnsmessage.RCodeNameError,
	} {
		for kind, answers := range map[dnsmessage.Type]int{
			dnsmessage.TypeA: 1, dnsmessage.TypeAAAA: 0, dnsmessage.TypeTXT: 0, 65: 0,
		} {
			if want != 0 || name == "localhost." && kind == dnsmessage.TypeAAAA {
				answers = 1 - min(1, int(want))
			}
			if m := ask(t, n, name, kind); m.RCode != want || len(m.Answers) != answers {
				t.Errorf("%q %v: %v %v", name, kind, m.RCode, m.Answers)
			}
		}
	}
	if got := strings.Join(refused, ","); strings.Count(got, "admin.example.org network.deny") != 1 || len(refused) != 6 {
		t.Error(got)
	}
	first := ask(t, n, "a.example.org.", dnsmessage.TypeA).Answers[0].Body.(*dnsmessage.AResource).A
	addr := netip.AddrFrom4(first)
	name, ok := n.nameOfAddr(addr)
	if !ok || name != "a.example.org" || !netip.MustParsePrefix("127.1.0.0/16").Contains(addr) {
		t.Error(addr, name)
	}
	other := ask(t, n, "b.example.org.", dnsmessage.TypeA).Answers[0].Body.(*dnsmessage.AResource).A
	if first == other {
		t.Error("two names have one address")
	}
	if _, ok := n.nameOfAddr(netip.MustParseAddr("127.1.255.254")); ok {
		t.Error("an address that wasn't handed out stands for a name")
	}
}

func TestDNSLeasesAreLimited(t *testing.T) {
	n := newDNSServer(compile(t, PolicyRules{Allow: []string{"*"}}), netip.MustParsePrefix("127.1.0.0/16"), func(target, Decision) {})
	n.maxLeases = 300
	kept := n.assignAddr("kept.test")
	for i := range 1000 {
		n.assignAddr(fmt.Sprint("n", i, ".test"))
		if again := n.assignAddr("kept.test"); again != kept {
			t.Fatalf("the address changed from %v to %v", kept, again)
		}
	}
	if len(n.byName) != 300 || len(n.byAddr) != 300 || n.leases.Len() != 300 {
		t.Error(len(n.byName), len(n.byAddr), n.leases.Len())
	}
	for addr, e := range n.byAddr {
		if got := e.Value.(*addrLease); got.addr != addr || n.byName[got.name] != e {
			t.Error(addr, got)
		}
	}
	n.assignAddr("unused.test")
	if _, ok := n.byName["n1.test"]; ok {
		t.Error("the one used least recently is still there")
	}
}

func TestDNSRefusesOtherQueries(t *testing.T) {
	n := newDNSServer(compile(t, PolicyRules{Allow: []string{"*"}}), netip.MustParsePrefix("127.1.0.0/16"), func(target, Decision) {})
	var m dnsmessage.Message
	_ = m.Unpack(question(t, "a.test.", dnsmessage.TypeA))
	for what, c := range map[string]struct {
		change func(m *dnsmessage.Message)
		want   dnsmessage.RCode
	}{
		"two questions": {func(m *dnsmessage.Message) { m.Questions = append(m.Questions, m.Questions[0]) },
			dnsmessage.RCodeFormatError},
		"no question": {func(m *dnsmessage.Message) { m.Questions = nil }, dnsmessage.RCodeFormatError},
		"an update":   {func(m *dnsmessage.Message) { m.OpCode = 5 }, dnsmessage.RCodeNotImplemented},
		"chaos": {func(m *dnsmessage.Message) { m.Questions[0].Class = dnsmessage.ClassCHAOS },
			dnsmessage.RCodeRefused},
	} {
		changed := m
		changed.Questions = append([]dnsmessage.Question(nil), m.Questions...)
		c.change(&changed)
		b, err := changed.Pack()
		if err != nil {
			t.Fatal(err)
		}
		var reply dnsmessage.Message
		if err := reply.Unpack(n.answerMessage(b)); err != nil || reply.RCode != c.want || len(reply.Answers) != 0 {
			t.Errorf("%s: %v, %v", what, reply, err)
		}
	}
	m.Response = true
	b, _ := m.Pack()
	if n.answerMessage(b) != nil || n.answerMessage([]byte("short")) != nil {
		t.Error("what is no question is answered")
	}
}

func TestDNSServesResolver(t *testing.T) {
	w := newServers(t).serve(ProxyOptions{Policy: compile(t, PolicyRules{Allow: []string{"a.test"}})})
	r := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", w.dns)
	}}
	addrs, err := r.LookupNetIP(t.Context(), "ip", "a.test.")
	if err != nil || len(addrs) != 1 || !addrs[0].IsLoopback() {
		t.Error(addrs, err)
	}
	if addrs, err := r.LookupNetIP(t.Context(), "ip", "b.test."); err == nil {
		t.Error(addrs)
	}
	if e := w.refusal(); e.Host != "b.test" || e.Port != 0 {
		t.Errorf("%+v", e)
	}
}

func FuzzNames(f *testing.F) {
	f.Add(question(f, "a.test.", dnsmessage.TypeA))
	f.Add(question(f, "evil\x00.test.", dnsmessage.TypeAAAA))
	n := newDNSServer(compile(f, PolicyRules{Allow: []string{"*.test"}}), netip.MustParsePrefix("127.1.0.0/16"), func(target, Decision) {})
	f.Fuzz(func(t *testing.T, b []byte) {
		reply := n.answerMessage(b)
		if reply == nil {
			return
		}
		var m dnsmessage.Message
		if err := m.Unpack(reply); err != nil || !m.Response {
			t.Errorf("%q is answered with %q: %v", b, reply, err)
		}
	})
}
