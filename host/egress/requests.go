package egress

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// requestRule limits the HTTP requests to the hosts that its entry matches. A pattern with ! denies and overrides the
// others; without a matching pattern a request is denied.
type requestRule struct {
	hostPattern
	setting  string // network.methods or network.requests
	patterns []requestPattern
}

// requestPattern is a parsed entry such as "GET /me/**" or "!POST /me/*/private".
type requestPattern struct {
	text   string
	deny   bool
	method string        // * for any
	path   []pathSegment // of network.requests
}

// pathSegment is a segment of a pattern: a decoded text, one segment (*) or any number of segments (**).
type pathSegment struct {
	text     string
	wildcard string
}

// parseRequestRule parses an entry of network.methods or network.requests.
func parseRequestRule(setting, text string, list []string) (requestRule, error) {
	e, err := parseHostEntry(text)
	r := requestRule{hostPattern: e, setting: setting}
	kind := strings.TrimPrefix(setting, "network.")
	if err == nil && len(list) == 0 {
		err = fmt.Errorf("it has no %s; list some, or add the host to network.deny", kind)
	}
	for _, one := range list {
		p, hasPath := requestPattern{text: one, method: one}, setting == "network.requests"
		if hasPath && err == nil {
			p, err = parseRequestPattern(one)
		}
		if err == nil && !isRequestMethod(p.method) && (p.method != "*" || !hasPath) {
			err = fmt.Errorf("%q is not a request method; write one such as GET", p.method)
		}
		r.patterns = append(r.patterns, p)
	}
	return r, err
}

func isRequestMethod(m string) bool {
	return strings.Trim(m, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-") == "" && m != "" && m != "CONNECT"
}

func parseRequestPattern(text string) (requestPattern, error) {
	rest, deny := strings.CutPrefix(text, "!")
	method, path, found := strings.Cut(rest, " ")
	p := requestPattern{text: text, deny: deny, method: method}
	if !found || !strings.HasPrefix(path, "/") {
		return p, fmt.Errorf("%q is not a method and a path; write them such as GET /me/**", text)
	}
	if strings.ContainsAny(path, "?# ") {
		return p, fmt.Errorf("%q contains a query, a fragment or a space; write the path only, with %%20 for a space", text)
	}
	raw := strings.Split(path[1:], "/")
	for i, s := range raw {
		switch segment, err := url.PathUnescape(s); {
		case s == "*" || s == "**":
			p.path = append(p.path, pathSegment{wildcard: s})
		case err != nil:
			return p, fmt.Errorf("%q: %w", text, err)
		case strings.Contains(s, "*"):
			return p, fmt.Errorf("%q: * and ** stand for whole segments; write %%2A for the character", text)
		case isAmbiguousSegment(segment) && (segment != "" || i < len(raw)-1):
			return p, fmt.Errorf("%q has an empty segment, . or .., which no request may have", text)
		default:
			p.path = append(p.path, pathSegment{text: segment})
		}
	}
	return p, nil
}

// isAmbiguousSegment reports whether a decoded segment is one that servers resolve: an empty one, . or .., also with
// parameters (..;x).
func isAmbiguousSegment(segment string) bool {
	name, _, _ := strings.Cut(segment, ";")
	return name == "" || name == "." || name == ".."
}

// isOddSegment reports whether servers may read more than a name from a decoded segment: separators, parameters, or a
// second encoding. No wildcard of a pattern that allows matches such a segment.
func isOddSegment(segment string) bool {
	return strings.ContainsFunc(segment, func(r rune) bool { return r < ' ' || r == 0x7f || strings.ContainsRune(`/\;%`, r) })
}

// splitRequestPath splits the escaped path of a request into decoded segments. A slash at the end makes an empty last
// segment. ok is false for a path that servers could read as another one.
func splitRequestPath(escaped string) (segments []string, ok bool) {
	rest, ok := strings.CutPrefix(escaped, "/")
	if !ok {
		return nil, false
	}
	segments = strings.Split(rest, "/")
	for i, s := range segments {
		decoded, err := url.PathUnescape(s)
		if err != nil || isAmbiguousSegment(decoded) && (decoded != "" || i < len(segments)-1) {
			return nil, false
		}
		segments[i] = decoded
	}
	return segments, true
}

// matches reports whether the pattern matches a request with a path of these segments.
func (p requestPattern) matches(method string, segments []string) bool {
	if p.method != "*" && p.method != method {
		return false
	}
	fits := func(wildcard, segment string) bool {
		return p.deny || !isOddSegment(segment) && (segment != "" || wildcard == "**")
	}
	at, last, absorbed := 0, -1, 0 // the pattern's next segment, its last **, and how far this one reaches
	for i := 0; i < len(segments); {
		switch {
		case at < len(p.path) && p.path[at].wildcard == "**":
			last, absorbed = at, i
			at++
		case at < len(p.path) && (p.path[at].wildcard == "*" && fits("*", segments[i]) ||
			p.path[at].wildcard == "" && p.path[at].text == segments[i]):
			at, i = at+1, i+1
		case last >= 0 && fits("**", segments[absorbed]):
			absorbed++
			at, i = last+1, absorbed
		default:
			return false
		}
	}
	for at < len(p.path) && p.path[at].wildcard == "**" {
		at++
	}
	return at == len(p.path)
}

// RestrictsRequests reports whether the policy limits the HTTP requests to any host.
func (p *Policy) RestrictsRequests() bool {
	return slices.ContainsFunc(*p.parts.Load(), func(r *compiledRules) bool { return len(r.requests) > 0 })
}

// DecideRequest decides on an HTTP request to an allowed host by its method and escaped path.
func (p *Policy) DecideRequest(host string, port uint16, method, path string) Decision {
	t, err := parseHost(host, port)
	if err != nil {
		return Decision{Verdict: Deny, Reason: fmt.Sprintf("network: refused, as %v", err)}
	}
	return p.decideRequest(t, method, path)
}

// decideRequest returns the first denial of the policy's parts.
func (p *Policy) decideRequest(t target, method, path string) Decision {
	allowed := Decision{Verdict: Allow}
	for _, r := range *p.parts.Load() {
		if rule := r.requestRuleFor(t); rule != nil {
			if allowed = rule.decide(t, method, path); allowed.Verdict == Deny {
				break
			}
		}
	}
	return allowed
}

func (r *requestRule) decide(t target, method, path string) Decision {
	deny := func(entry, format string, a ...any) Decision {
		return Decision{Deny, r.setting, entry, "network: refused " + fmt.Sprintf(format, a...) + "; setting " + r.setting}
	}
	if r.setting == "network.methods" {
		var names []string
		for _, p := range r.patterns {
			names = append(names, p.method)
		}
		if !slices.Contains(names, method) {
			return deny(r.text, "%.32q to %s, which takes only %s", method, t.displayName(), strings.Join(names, ", "))
		}
		return Decision{Verdict: Allow, Rule: r.setting, Entry: r.text}
	}
	segments, ok := splitRequestPath(path)
	if !ok {
		return deny(r.text, "%.200q to %s: a segment of its path is empty, . or .., or it has no path", method+" "+path, t.displayName())
	}
	var allowed Decision
	for _, p := range r.patterns {
		switch matches := p.matches(method, segments); {
		case matches && p.deny:
			return deny(p.text, "%.200q to %s, which %q denies", method+" "+path, t.displayName(), p.text)
		case matches && allowed.Entry == "":
			allowed = Decision{Verdict: Allow, Rule: r.setting, Entry: p.text}
		}
	}
	if allowed.Entry == "" {
		return deny(r.text, "%.200q to %s", method+" "+path, t.displayName())
	}
	return allowed
}

// requestRuleFor returns the narrowest rule that limits the requests to a target; nil if none does.
func (r *compiledRules) requestRuleFor(t target) *requestRule {
	for i, rule := range r.requests {
		if rule.matchesHost(t) && rule.matchesPortOrAny(t.port) {
			return &r.requests[i]
		}
	}
	return nil
}

// overrideHeaders make some servers take another method or path than those of the request.
var overrideHeaders = []string{"X-Http-Method-Override", "X-Http-Method", "X-Method-Override", "X-Original-Url", "X-Rewrite-Url"}
