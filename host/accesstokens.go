package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/internal/suggest"
)

// accessTokens accepts access tokens of an OAuth authorization server in place of agents' own tokens.
type accessTokens struct {
	settings config.GatewayOAuth
	verifier *oidc.IDTokenVerifier
}

// keysTimeout limits a request for the authorization server's keys.
const keysTimeout = 10 * time.Second

// newAccessTokens returns nil without an issuer in the settings.
func newAccessTokens(c *config.Config) (*accessTokens, error) {
	settings := c.Gateway().OAuth
	if settings.Issuer == "" {
		return nil, nil
	}
	if settings.JWKS == "" || settings.Audience == "" {
		return nil, errors.New("gateway.oauth.issuer requires gateway.oauth.jwks and gateway.oauth.audience; set them")
	}
	for agent := range settings.Agents {
		if !slices.Contains(c.AgentIDs(), agent) {
			return nil, fmt.Errorf("gateway.oauth.agents.%s: there is no such agent%s", agent, suggest.DidYouMean(agent, c.AgentIDs()))
		}
	}
	keys := oidc.NewRemoteKeySet(oidc.ClientContext(context.Background(), &http.Client{Timeout: keysTimeout}), settings.JWKS)
	return &accessTokens{settings, oidc.NewVerifier(settings.Issuer, keys, &oidc.Config{
		SkipClientIDCheck:    true, // acceptsToken checks the audience
		SupportedSigningAlgs: []string{oidc.RS256, oidc.ES256, oidc.PS256, oidc.EdDSA},
	})}, nil
}

// acceptsToken reports whether a token was issued for this gateway and for a user of the agent.
func (a *accessTokens) acceptsToken(ctx context.Context, agent, token string) bool {
	if a == nil || strings.Count(token, ".") != 2 {
		return false
	}
	verified, err := a.verifier.Verify(ctx, token)
	if err != nil {
		return false
	}
	isForGateway := func(audience string) bool {
		return audience == a.settings.Audience || audience == a.settings.Audience+"/"+agent
	}
	var claims struct {
		Email    string `json:"email"`
		Verified bool   `json:"email_verified"`
	}
	if !slices.ContainsFunc(verified.Audience, isForGateway) || verified.Claims(&claims) != nil {
		return false
	}
	return slices.ContainsFunc(a.settings.Agents[agent], func(name string) bool {
		return name == "*" || name == verified.Subject || name == claims.Email && claims.Verified
	})
}

// ResourceMetadataPath is the URL path below which MCP clients find the authorization server (RFC 9728).
const ResourceMetadataPath = "/.well-known/oauth-protected-resource"

// metadataURL returns the URL of the metadata for an MCP path; "" if there are none.
func (a *accessTokens) metadataURL(path string) string {
	if a == nil {
		return ""
	}
	u, err := url.Parse(a.settings.Audience)
	if err != nil || u.Host == "" {
		return ""
	}
	u.Path = ResourceMetadataPath + path
	return u.String()
}

// serveMetadata serves the metadata for an MCP path.
func (a *accessTokens) serveMetadata(w http.ResponseWriter, path string) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*") // it is public
	_ = json.NewEncoder(w).Encode(map[string]any{
		"resource":                 strings.TrimSuffix(a.settings.Audience, mcp.Path) + path,
		"authorization_servers":    []string{a.settings.Issuer},
		"bearer_methods_supported": []string{"header"},
	})
}
