package egress

import (
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct {
		rules PolicyRules
		want  string
	}{
		{PolicyRules{Allow: []string{"*.com"}}, `network.allow: "*.com": it matches all domains below com`},
		{PolicyRules{Allow: []string{"*.co.uk"}}, "below co.uk"},
		{PolicyRules{Ask: []string{"*.github.io"}}, "network.ask"},
		{PolicyRules{Allow: []string{"10.0.0.5"}}, "as a network, 10.0.0.5/32"},
		{PolicyRules{Deny: []string{"[fd00::1]"}}, "as a network, fd00::1/128"},
		{PolicyRules{Allow: []string{"10.0.0.5/8"}}, "write 10.0.0.0/8"},
		{PolicyRules{Allow: []string{"https://example.com/"}}, "write only the host, example.com"},
		{PolicyRules{Allow: []string{"a.*.example.com"}}, "first label"},
		{PolicyRules{Allow: []string{"example.com:0"}}, "is not a port"},
		{PolicyRules{Allow: []string{"0x7f.1"}}, "network.allow"},
		{PolicyRules{Methods: map[string][]string{"a.example.com": {"get"}}}, `network.methods: "a.example.com"`},
		{PolicyRules{Methods: map[string][]string{"a.example.com": nil}}, "no methods"},
		{PolicyRules{Allow: []string{"tcp://a.example.com"}}, "no port; write one such as tcp://a.example.com:5432"},
		{PolicyRules{Allow: []string{"tcp://a.example.com:1"}, Methods: map[string][]string{"a.example.com": {"GET"}}}, "any protocol; remove one"},
		{PolicyRules{Ask: []string{"tcp://10.0.0.0/8:1"}, Methods: map[string][]string{"10.0.0.0/8": {"GET"}}}, "any protocol; remove one"},
		{PolicyRules{Hosts: map[string][]string{"a.example.com": {"x"}}}, `network.hosts: "a.example.com": "x" is not an IP address`},
		{PolicyRules{Hosts: map[string][]string{"10.0.0.1": {"10.0.0.1"}}}, "write a name"},
	} {
		if _, err := CompilePolicy(c.rules); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Compile(%v) = %v, want %q in it", c.rules, err, c.want)
		}
	}
	compile(t, PolicyRules{Deny: []string{"*.com"}, Allow: []string{"*.internal"}})
}

func TestDecide(t *testing.T) {
	p := compile(t, PolicyRules{
		Allow: []string{"api.example.com", "*.example.org", "files.example.net:8443", "more.example.net:8443", "10.0.0.0/8",
			"[fd00::/8]:22", "0.0.0.0/0:99"},
		Deny: []string{"admin.example.org", "10.9.0.0/16", "*.bad.example.org:443"},
		Ask:  []string{"ask.example.org", "files.example.net", "wait.example.net:444", "admin.example.org"},
	})
	for _, c := range []struct {
		host  string
		port  uint16
		want  Verdict
		entry string
	}{
		{"api.example.com", 443, Allow, "api.example.com"},
		{"API.EXAMPLE.COM.", 80, Allow, "api.example.com"},
		{"api.example.com", 22, Deny, ""},
		{"x.api.example.com", 443, Deny, ""},
		{"example.org", 443, Deny, ""},
		{"notexample.org", 443, Deny, ""},
		{"a.b.example.org", 443, Allow, "*.example.org"},
		{"admin.example.org", 443, Deny, "admin.example.org"},
		{"admin.example.org.", 9999, Deny, "admin.example.org"},
		{"x.bad.example.org", 443, Deny, "*.bad.example.org:443"},
		{"x.bad.example.org", 80, Allow, "*.example.org"},
		{"ask.example.org", 443, Ask, "ask.example.org"},
		{"ask.example.org", 22, Deny, ""},
		{"wait.example.net", 444, Ask, "wait.example.net:444"},
		{"wait.example.net", 443, Deny, ""},
		{"files.example.net", 8443, Ask, "files.example.net"},
		{"files.example.net", 8444, Deny, ""},
		{"more.example.net", 8443, Allow, "more.example.net:8443"},
		{"more.example.net", 443, Deny, ""},
		{"10.1.2.3", 80, Allow, "10.0.0.0/8"},
		{"::ffff:10.1.2.3", 80, Allow, "10.0.0.0/8"},
		{"10.9.2.3", 80, Deny, "10.9.0.0/16"},
		{"8.8.8.8", 99, Allow, "0.0.0.0/0:99"},
		{"127.0.0.1", 99, Deny, ""},
		{"169.254.169.254", 99, Deny, ""},
		{"fd00::1", 22, Allow, "[fd00::/8]:22"},
		{"fd00:ec2::254", 22, Deny, ""},
		{"fd00::1", 443, Deny, ""},
		{"evil\x00.example.org", 443, Deny, ""},
		{"0177.0.0.1", 443, Deny, ""},
	} {
		d := p.Decide(c.host, c.port)
		if d.Verdict != c.want || d.Entry != c.entry {
			t.Errorf("Decide(%q, %d) = %+v, want %s by %q", c.host, c.port, d, c.want, c.entry)
		}
		if (d.Reason == "") != (c.want == Allow) {
			t.Errorf("Decide(%q, %d) has the reason %q", c.host, c.port, d.Reason)
		}
	}
	if got := p.Decide("x.test", 443).Reason; got != "network: refused x.test; setting network.allow" {
		t.Error(got)
	}
}

func TestAnyNameEntry(t *testing.T) {
	p := compile(t, PolicyRules{Allow: []string{"*"}, Deny: []string{"*.evil.test"}})
	for host, want := range map[string]Verdict{"a.test": Allow, "x.evil.test": Deny, "8.8.8.8": Deny} {
		if got := p.Decide(host, 443).Verdict; got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
	p = compile(t, PolicyRules{Allow: []string{"8.0.0.0/8"}, Deny: []string{"*"}})
	if d := p.Decide("8.8.8.8", 443); d.Verdict != Deny {
		t.Error("deny * doesn't deny addresses")
	}
}

func TestPolicyIntersect(t *testing.T) {
	agent := compile(t, PolicyRules{Allow: []string{"a.test", "b.test", "c.test:9"}, Ask: []string{"d.test"},
		Methods: map[string][]string{"a.test": {"GET", "PUT"}}})
	plugin := compile(t, PolicyRules{Allow: []string{"*.test", "a.test", "b.test:9", "c.test:9", "d.test", "e.test:10"},
		Deny: []string{"b.test"}, Methods: map[string][]string{"a.test": {"GET"}},
		Hosts: map[string][]string{"a.test": {"169.254.169.254"}}})
	both := agent.Intersect(plugin)
	for host, want := range map[string]Verdict{"a.test": Allow, "b.test": Deny, "d.test": Ask, "e.test": Deny} {
		if got := both.Decide(host, 443).Verdict; got != want {
			t.Errorf("%s: %s, want %s", host, got, want)
		}
	}
	if got := both.AllowedPorts(); !slices.Equal(got, []uint16{9, 80, 443}) {
		t.Error(got)
	}
	if both.DecideRequest("a.test", 443, "PUT", "/").Verdict != Deny {
		t.Error("a method that only one allows")
	}
	if both.allowsResolvedAddr(target{name: "a.test", port: 443}, netip.MustParseAddr("169.254.169.254"), false) {
		t.Error("one list's entry for the resolver opens an address that the other doesn't")
	}
	if agent.Intersect(nil) != agent || (*Policy)(nil).Intersect(agent) != agent {
		t.Error("a missing list has a say")
	}
}

func TestNarrowestMethods(t *testing.T) {
	p := compile(t, PolicyRules{Methods: map[string][]string{
		"*": {"GET"}, "*.example.test": {"GET", "PUT"}, "api.example.test": {"DELETE"},
	}})
	for _, c := range []struct {
		host, method string
		want         bool
	}{
		{"x.test", "PUT", false}, {"x.test", "GET", true}, {"a.example.test", "PUT", true},
		{"api.example.test", "PUT", false}, {"api.example.test", "DELETE", true},
	} {
		if d := p.DecideRequest(c.host, 443, c.method, "/a//.."); (d.Verdict == Allow) != c.want {
			t.Errorf("%v: %v", c, d)
		}
	}
}

func TestAllowedAddresses(t *testing.T) {
	p := compile(t, PolicyRules{Allow: []string{"*", "10.1.0.0/16", "0.0.0.0/0"}, Deny: []string{"8.8.8.0/24", "10.1.1.0/24"},
		Hosts: local("local.test")})
	name := target{name: "x.test", port: 443}
	for addr, want := range map[string]bool{
		"1.1.1.1": true, "2606:4700::1": true, "10.1.0.1": true,
		"8.8.8.8": false, "10.1.1.1": false, "10.2.0.1": false, "127.0.0.1": false, "169.254.169.254": false,
		"169.254.0.1": false, "172.16.0.1": false, "192.168.1.1": false, "100.64.0.1": false, "0.0.0.0": false,
		"224.0.0.1": false, "255.255.255.255": false, "198.18.0.1": true, "192.0.2.1": true, "::": false, "::1": false,
		"fe80::1": false, "fc00::1": false, "fd00:ec2::254": false, "ff02::1": false, "64:ff9b::7f00:1": false,
		"64:ff9b:1::1": false, "2002:7f00:1::": false, "2001::1": false, "2001:db8::1": true, "::127.0.0.1": false,
		"168.63.129.16": false,
	} {
		if got := p.allowsResolvedAddr(name, netip.MustParseAddr(addr), false); got != want {
			t.Errorf("%s: %v", addr, got)
		}
	}
	if loop := netip.MustParseAddr("127.0.0.1"); !p.allowsResolvedAddr(target{name: "local.test", port: 9}, loop, true) {
		t.Error("an entry of the resolver isn't believed")
	}
	public := compile(t, PolicyRules{Allow: []string{"*"}})
	if public.allowsResolvedAddr(name, netip.MustParseAddr("1.1.1.1"), true) {
		t.Error("this machine's own address is reached")
	}
}

// A host is allowed while connections are decided, and deny entries stay stricter.
func TestAllowHostWhileDeciding(t *testing.T) {
	t.Parallel()
	p, err := CompilePolicy(PolicyRules{Allow: []string{"a.test"}, Deny: []string{"d.test"}})
	if err != nil {
		t.Fatal(err)
	}
	var deciding sync.WaitGroup
	for range 4 {
		deciding.Go(func() {
			for range 1000 {
				if p.Decide("a.test", 443).Verdict != Allow || p.Decide("d.test", 443).Verdict != Deny {
					t.Error("a decision changed")
				}
			}
		})
	}
	for _, host := range []string{"b.test", "d.test", "c.test:8080"} {
		if err := p.AllowHost(host); err != nil {
			t.Error(err)
		}
	}
	deciding.Wait()
	if p.AllowHost("http://x") == nil || p.Decide("b.test", 443).Verdict != Allow || p.Decide("c.test", 8080).Verdict != Allow || p.Decide("e.test", 443).Verdict != Deny {
		t.Error("the wrong hosts are allowed")
	}
}
