// Package logintest has an MCP server that requests a login, with its authorization server, for tests.
package logintest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
)

// Server is an MCP server and its authorization server, on loopback without TLS. Access tokens expire at once for
// clients, which keep a margin, and stay valid until the next refresh.
type Server struct {
	*httptest.Server
	MCPURL       string
	AuthorizeURL string // of the page on which a person signs in

	mu        sync.Mutex
	codes     map[string]string // PKCE challenge by authorization code; empty for a device code
	refreshes int
	polls     int
	access    string // the only valid access token
	refresh   string // the only valid refresh token
}

// NewServer starts a server. Requests with a valid token reach next.
func NewServer(t *testing.T, next http.Handler) *Server {
	s := &Server{codes: map[string]string{}}
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		if !s.accepts(r.Header.Get("Authorization")) {
			w.Header().Set("WWW-Authenticate", fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp"`, s.URL))
			http.Error(w, "sign in", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
	mux.HandleFunc("/.well-known/oauth-protected-resource/mcp", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"resource": s.MCPURL, "authorization_servers": []string{s.URL}})
	})
	mux.HandleFunc("/.well-known/oauth-authorization-server", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, http.StatusOK, map[string]any{"issuer": s.URL, "authorization_endpoint": s.AuthorizeURL, "token_endpoint": s.URL + "/token",
			"registration_endpoint": s.URL + "/register", "device_authorization_endpoint": s.URL + "/device",
			"response_types_supported": []string{"code"}, "code_challenge_methods_supported": []string{"S256"},
			"token_endpoint_auth_methods_supported": []string{"none"}})
	})
	mux.HandleFunc("/register", func(w http.ResponseWriter, r *http.Request) {
		var metadata map[string]any
		_ = json.NewDecoder(r.Body).Decode(&metadata)
		metadata["client_id"] = "registered"
		reply(w, http.StatusCreated, metadata)
	})
	mux.HandleFunc("/authorize", s.authorize)
	mux.HandleFunc("/device", func(w http.ResponseWriter, _ *http.Request) {
		code := s.newCode("")
		reply(w, http.StatusOK, map[string]any{"device_code": code, "user_code": "ABCD-EFGH", "verification_uri": s.URL + "/enter", "interval": 1,
			"expires_in": 600})
	})
	mux.HandleFunc("/token", s.issueToken)
	s.Server = httptest.NewServer(mux)
	t.Cleanup(s.Close)
	s.MCPURL, s.AuthorizeURL = s.URL+"/mcp", s.URL+"/authorize"
	return s
}

// Revoke makes the server refuse all tokens that it has issued.
func (s *Server) Revoke() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.access, s.refresh = "", ""
}

// AccessToken returns the token that the server accepts.
func (s *Server) AccessToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.access
}

// Refreshes returns the number of refreshed tokens.
func (s *Server) Refreshes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refreshes
}

func (s *Server) accepts(authorization string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.access != "" && authorization == "Bearer "+s.access
}

func (s *Server) newCode(challenge string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	code := rand.Text()
	s.codes[code] = challenge
	return code
}

// authorize lets the browser return at once, as if the person had agreed.
func (s *Server) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("code_challenge_method") != "S256" || q.Get("resource") != s.MCPURL || q.Get("client_id") == "" {
		http.Error(w, "bad request", http.StatusBadRequest)
		return
	}
	back, err := url.Parse(q.Get("redirect_uri"))
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	back.RawQuery = url.Values{"code": {s.newCode(q.Get("code_challenge"))}, "state": {q.Get("state")}}.Encode()
	http.Redirect(w, r, back.String(), http.StatusFound)
}

func (s *Server) issueToken(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	refused := func(code string) { reply(w, http.StatusBadRequest, map[string]any{"error": code}) }
	switch r.FormValue("grant_type") {
	case "authorization_code":
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		challenge, ok := s.codes[r.FormValue("code")]
		if delete(s.codes, r.FormValue("code")); !ok || challenge != base64.RawURLEncoding.EncodeToString(sum[:]) {
			refused("invalid_grant")
			return
		}
	case "refresh_token":
		if s.refresh == "" || r.FormValue("refresh_token") != s.refresh {
			refused("invalid_grant")
			return
		}
		s.refreshes++
	default:
		if _, ok := s.codes[r.FormValue("device_code")]; !ok {
			refused("invalid_grant")
			return
		}
		if s.polls++; s.polls == 1 {
			refused("authorization_pending")
			return
		}
	}
	s.access, s.refresh = "access-"+rand.Text(), "refresh-"+rand.Text()
	reply(w, http.StatusOK, map[string]any{"access_token": s.access, "refresh_token": s.refresh, "token_type": "Bearer", "expires_in": 5})
}

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}
