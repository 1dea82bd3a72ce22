package egress

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// Rules are what an operator wrote, as written. An entry is a name (api.example.com), all names below one
// (*.example.org), every name that resolves to public addresses (*) or a network (10.0.0.0/8, fd00::/8), each with a
// port if it ends in one (files.example.net:8443, [fd00::/8]:443).
//
// An entry of Allow or Ask without a port stands for the ports 80 and 443, and one of Deny for all. An entry of Ask
// without a port holds besides on each port that Allow opens for the same host.
type Rules struct {
	Allow, Deny, Ask []string

	// Methods are the only HTTP methods for the hosts that an entry stands for. Of several entries the narrowest holds.
	Methods map[string][]string

	// Hosts are addresses of names that are not looked up. A name is connected to them whatever networks they are in.
	Hosts map[string][]string
}

// rules are what Rules mean.
type rules struct {
	allow, deny, ask []entry
	methods          []methods // the narrowest first
	hosts            map[string][]netip.Addr
	digest           string
}

type methods struct {
	entry
	list []string
}

// Compile reads rules. The error names the entry that is wrong, and what to write.
func Compile(r Rules) (*Policy, error) {
	c := &rules{hosts: map[string][]netip.Addr{}}
	var lines []string
	for _, list := range []struct {
		setting string
		texts   []string
		entries *[]entry
	}{{"network.allow", r.Allow, &c.allow}, {"network.deny", r.Deny, &c.deny}, {"network.ask", r.Ask, &c.ask}} {
		for _, text := range list.texts {
			e, err := parseEntry(text)
			if suffix, ok := e.public(); err == nil && ok && list.setting != "network.deny" {
				err = fmt.Errorf("it stands for everybody's names below %s; write the names that are meant, or * for all",
					suffix)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", list.setting, text, err)
			}
			*list.entries = append(*list.entries, e)
			lines = append(lines, list.setting+" "+text)
		}
	}
	for _, text := range slices.Sorted(maps.Keys(r.Methods)) {
		m, err := parseMethods(text, r.Methods[text])
		if err != nil {
			return nil, fmt.Errorf("network.methods: %q: %w", text, err)
		}
		c.methods = append(c.methods, m)
		lines = append(lines, "network.methods "+text+" "+strings.Join(slices.Sorted(slices.Values(m.list)), " "))
	}
	slices.SortStableFunc(c.methods, func(a, b methods) int { return a.narrower(b.entry) })
	for _, text := range slices.Sorted(maps.Keys(r.Hosts)) {
		t, addrs, err := parseHosts(text, r.Hosts[text])
		if err != nil {
			return nil, fmt.Errorf("network.hosts: %q: %w", text, err)
		}
		c.hosts[t] = append(c.hosts[t], addrs...)
		lines = append(lines, "network.hosts "+text+" "+strings.Join(r.Hosts[text], " "))
	}
	slices.Sort(lines)
	c.digest = strings.Join(slices.Compact(lines), "\n")
	return &Policy{parts: []*rules{c}}, nil
}

func parseMethods(text string, list []string) (methods, error) {
	e, err := parseEntry(text)
	if err != nil {
		return methods{}, err
	}
	if len(list) == 0 {
		return methods{}, fmt.Errorf("it has no methods; write those that are meant, or the host under network.deny")
	}
	for _, m := range list {
		if !httpguts.ValidHeaderFieldName(m) || m != strings.ToUpper(m) || m == "CONNECT" {
			return methods{}, fmt.Errorf("%q is no method of requests; write one such as GET", m)
		}
	}
	return methods{e, slices.Clone(list)}, nil
}

func parseHosts(text string, list []string) (string, []netip.Addr, error) {
	t, err := parseHost(text, 0)
	if err == nil && t.name == "" {
		err = fmt.Errorf("an address needs no entry; write a name")
	}
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("it has no addresses; write those of the host")
	}
	var addrs []netip.Addr
	for _, a := range list {
		addr, bad := netip.ParseAddr(a)
		if bad != nil || addr.Zone() != "" {
			return "", nil, fmt.Errorf("%q is no address; write one such as 10.0.0.5 or fd00::5", a)
		}
		addrs = append(addrs, addr.Unmap())
	}
	return t.name, addrs, err
}

// narrower compares entries. Of two that stand for one host, the one with the longer name stands for fewer.
func (e entry) narrower(other entry) int {
	return cmp.Or(
		cmp.Compare(len(other.name), len(e.name)),
		cmp.Compare(other.prefix.Bits(), e.prefix.Bits()),
		cmp.Compare(other.port, e.port),
	)
}
