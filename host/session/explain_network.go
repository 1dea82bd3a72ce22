package session

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/host/egress"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// networkQuestion is a connection or request that a decision is asked for.
type networkQuestion struct {
	host   string
	port   uint16
	raw    bool   // in any protocol
	method string // of an HTTP request; "" for a connection
	path   string // escaped
}

// parseNetworkQuestion parses a host, host:port (the default port is 443), tcp://host:port, a URL, which stands for a GET
// request, or a method and a URL.
func parseNetworkQuestion(text string) (q networkQuestion, err error) {
	method, place, found := strings.Cut(text, " ")
	if !found {
		method, place = "GET", text
	}
	if u, invalid := url.Parse(place); invalid == nil && (u.Scheme == "http" || u.Scheme == "https") {
		q = networkQuestion{host: u.Hostname(), port: 443, method: method, path: cmp.Or(u.EscapedPath(), "/")}
		if u.Scheme == "http" {
			q.port = 80
		}
		if u.Port() != "" {
			q.port, err = parsePort(u.Hostname(), u.Port())
		}
		return q, err
	}
	if found {
		return q, fmt.Errorf("%q is not a URL; write a request such as 'POST https://api.example.com/me'", place)
	}
	place, raw := strings.CutPrefix(place, "tcp://")
	host, port, err := splitHostAndPort(place)
	return networkQuestion{host: host, port: port, raw: raw}, err
}

// splitHostAndPort splits a host or host:port; the default port is 443.
func splitHostAndPort(place string) (string, uint16, error) {
	host, text, err := net.SplitHostPort(place)
	if err != nil {
		return strings.Trim(place, "[]"), 443, nil
	}
	port, err := parsePort(host, text)
	return host, port, err
}

func parsePort(host, text string) (uint16, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("%q is no port; write one such as %s:443", text, host)
	}
	return uint16(port), nil
}

// ExplainNetwork returns the decision about a connection or request, in the forms that parseNetworkQuestion takes.
func (s *Session) ExplainNetwork(text string) (guard.Decision, error) {
	reached := s.policy.NetworkRules()
	if !s.policy.IsolationOptions().Network {
		return guard.Decision{Verdict: guard.Deny, Rule: "isolation.network", Reason: "there is no network",
			Hint: "isolation.network: true gives it to plugins that are granted it"}, nil
	}
	if reached == nil {
		return guard.Decision{Verdict: guard.Allow, Rule: "isolation.network",
			Reason: "no host is named, so processes with the network grant have the host's network"}, nil
	}
	q, err := parseNetworkQuestion(text)
	if err != nil {
		return guard.Decision{}, err
	}
	p, err := s.host.compileNetworkPolicy(reached, s.policy.WorkspacePath())
	if err != nil {
		return guard.Decision{}, err
	}
	d := p.Decide(q.host, q.port)
	entry, isAnyProtocol := "tcp://"+egress.FormatPortEntry(q.host, q.port), p.PermitsAnyProtocol(q.host, q.port)
	reason := fmt.Sprintf("%q allows it", d.Entry)
	switch {
	case d.Verdict == egress.Deny:
	case q.raw && !isAnyProtocol:
		d = egress.Decision{Verdict: egress.Deny, Reason: fmt.Sprintf("%q allows TLS and HTTP only; %q in network.allow allows "+
			"any protocol", d.Entry, entry)}
	case q.method != "":
		if request := p.DecideRequest(q.host, q.port, q.method, q.path); request.Verdict == egress.Deny {
			d = request
		} else if request.Rule != "" && d.Verdict == egress.Allow {
			d, reason = request, fmt.Sprintf("%q allows the host, and %q the request", d.Entry, request.Entry)
		}
	case q.port != 80 && q.port != 443 && !isAnyProtocol:
		reason += fmt.Sprintf(" for TLS and HTTP; %q allows any protocol", entry)
	}
	verdicts := map[egress.Verdict]guard.Verdict{egress.Allow: guard.Allow, egress.Ask: guard.Ask, egress.Deny: guard.Deny}
	out := guard.Decision{Verdict: verdicts[d.Verdict], Rule: cmp.Or(d.Rule, "network.allow"), Reason: d.Reason}
	if d.Verdict == egress.Allow {
		out.Reason = reason
	}
	return out, nil
}
