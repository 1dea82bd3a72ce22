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

// gate lets in requests that are meant for this server and carry its token. A page in a browser can send requests to
// this machine, even under a name of its own that it has pointed here; so can any program of any user.
type gate struct {
	hosts []string
	token string
	next  http.Handler
}

func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case !AddressedTo(r.Host, g.hosts):
		g.refuse(w, http.StatusForbidden,
			"the Host header names another server; use localhost, an IP address, or a name given with --allow-host, or for the gateway with gateway.allow_hosts")
	case !sameOrigin(r):
		g.refuse(w, http.StatusForbidden, "pages of other origins may not use this server")
	case !g.carriesToken(r):
		w.Header().Set("WWW-Authenticate", `Bearer realm="picoclaw"`)
		g.refuse(w, http.StatusUnauthorized,
			`send the header "Authorization: Bearer TOKEN" with the token of this server: its file is named when it starts, and `+
				"`picoclaw gateway token` shows an agent's")
	case r.URL.Path != Path:
		g.refuse(w, http.StatusNotFound, "there is nothing here; MCP is at "+Path)
	default:
		w.Header().Set("Cache-Control", "no-store")
		g.next.ServeHTTP(w, r)
	}
}

// Path is where a handler serves.
const Path = "/mcp"

// refuse ends the connection with it: what else a stranger wants to send is not waited for.
func (g *gate) refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Connection", "close")
	refuse(w, status, text)
}

// AddressedTo reports whether a Host header is one of this server's: localhost, an IP address, or one of its names. A
// name can be pointed anywhere by whoever owns it, an IP address can't.
func AddressedTo(host string, names []string) bool {
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

// sameOrigin reports whether a request comes from no page, or from one of this server's own.
func sameOrigin(r *http.Request) bool {
	for _, origin := range r.Header.Values("Origin") {
		from, err := url.Parse(origin)
		if err != nil || !strings.EqualFold(from.Host, r.Host) {
			return false
		}
	}
	return true
}

func (g *gate) carriesToken(r *http.Request) bool {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return false
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	// Digests are of one length, so that the time this takes says nothing of the token.
	want, got := sha256.Sum256([]byte(g.token)), sha256.Sum256([]byte(strings.TrimSpace(token)))
	return strings.EqualFold(scheme, "Bearer") && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}
