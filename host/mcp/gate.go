package mcp

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// httpAccessGate passes on only requests that are for this server and have its token. It refuses requests of other
// users' programs and of web pages, even under a DNS name that points to this machine.
type httpAccessGate struct {
	hosts     []string
	readToken func() (string, error)
	metadata  string // URL for the challenge; may be empty
	next      http.Handler
}

// ServeHTTP checks Host, Origin, token and path.
func (g *httpAccessGate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Body != http.NoBody {
		limitBodyTime(w)
	}
	switch {
	case !IsAllowedHost(r.Host, g.hosts):
		g.refuseAndClose(w, http.StatusForbidden,
			"the Host header names another server; use localhost, an IP address, or a name given with --allow-host, or for the gateway with gateway.allow_hosts")
	case !isSameOrigin(r):
		g.refuseAndClose(w, http.StatusForbidden, "requests from other origins are not allowed")
	case !g.hasCurrentToken(r):
		challenge := `Bearer realm="picoclaw"`
		if g.metadata != "" {
			challenge += `, resource_metadata="` + g.metadata + `"`
		}
		w.Header().Set("WWW-Authenticate", challenge)
		g.refuseAndClose(w, http.StatusUnauthorized,
			`the token is missing, unknown, expired or revoked; send the header "Authorization: Bearer TOKEN" with the token of this `+
				"server: its file is named when it starts, and `picoclaw gateway token` shows an agent's")
	case r.URL.Path != Path:
		g.refuseAndClose(w, http.StatusNotFound, "not found; MCP is at "+Path)
	default:
		w.Header().Set("Cache-Control", "no-store")
		g.next.ServeHTTP(w, r)
	}
}

func (g *httpAccessGate) hasCurrentToken(r *http.Request) bool {
	token, err := g.readToken()
	return err == nil && HasBearerToken(r, token)
}

// Path is the URL path of MCP.
const Path = "/mcp"

// refuseAndClose answers with an error and closes the connection without reading the rest.
func (g *httpAccessGate) refuseAndClose(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Connection", "close")
	writeError(w, status, text)
}

// IsAllowedHost reports whether a Host header is localhost, an IP address, or one of the names. Other names are refused
// because an attacker can point a name to this machine (DNS rebinding).
func IsAllowedHost(host string, names []string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.ToLower(strings.TrimSuffix(strings.Trim(name, "[]"), "."))
	if _, err := netip.ParseAddr(name); err == nil {
		return true
	}
	return name == "localhost" || slices.ContainsFunc(names, func(h string) bool { return strings.EqualFold(h, name) })
}

// isSameOrigin reports whether a request has no Origin header or the server's own origin.
func isSameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		from, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(from.Host, r.Host) {
			return false
		}
	}
	return true
}

// BearerToken returns the bearer token of a request; "" without exactly one.
func BearerToken(r *http.Request) string {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return ""
	}
	scheme, sent, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(sent)
}

// HasBearerToken reports whether a request has this bearer token, which is not empty. It compares in constant time.
func HasBearerToken(r *http.Request, token string) bool {
	// Equal lengths keep the comparison's time independent of the token.
	want, got := sha256.Sum256([]byte(token)), sha256.Sum256([]byte(BearerToken(r)))
	return token != "" && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}
