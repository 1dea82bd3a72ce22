package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// deviceGrant is the grant type of the device flow (RFC 8628).
const deviceGrant = "urn:ietf:params:oauth:grant-type:device_code"

// authorizeDevice signs in by the device flow: the person enters a code in a browser on any machine.
func (o *Options) authorizeDevice(ctx context.Context, challenge *http.Response, save func(*oauth2.Config, *oauth2.Token) error) error {
	resource, err := o.fetchResourceMetadata(ctx, challenge)
	if err != nil {
		return err
	}
	issuer := resource.AuthorizationServers[0]
	server, err := auth.GetAuthServerMetadata(ctx, issuer, o.Client)
	if err != nil {
		return err
	}
	deviceURL := o.fetchDeviceEndpoint(ctx, issuer)
	if server == nil || deviceURL == "" {
		return fmt.Errorf("%s offers no device flow; sign in without --device", issuer)
	}
	config := &oauth2.Config{ClientID: o.ClientID, ClientSecret: o.ClientSecret, Scopes: append(resource.ScopesSupported, o.Scopes...),
		Endpoint: oauth2.Endpoint{DeviceAuthURL: deviceURL, TokenURL: server.TokenEndpoint, AuthStyle: oauth2.AuthStyleInParams}}
	if config.ClientID == "" {
		client, registerErr := oauthex.RegisterClient(ctx, server.RegistrationEndpoint, &oauthex.ClientRegistrationMetadata{
			ClientName: clientName, GrantTypes: []string{deviceGrant, "refresh_token"}, TokenEndpointAuthMethod: "none"}, o.Client)
		if registerErr != nil {
			return explainRegistration(fmt.Errorf("registration: %w", registerErr), "")
		}
		config.ClientID, config.ClientSecret = client.ClientID, client.ClientSecret
	}
	forResource := oauth2.SetAuthURLParam("resource", resource.Resource)
	code, err := config.DeviceAuth(ctx, forResource)
	if err != nil {
		return err
	}
	if _, err = parsePage(code.VerificationURI); err != nil {
		return err
	}
	o.Show(code.VerificationURI, code.UserCode)
	token, err := config.DeviceAccessToken(ctx, code, forResource)
	if err != nil {
		return err
	}
	return save(config, token)
}

// fetchResourceMetadata fetches the server's metadata, which name its authorization servers (RFC 9728).
func (o *Options) fetchResourceMetadata(ctx context.Context, challenge *http.Response) (*oauthex.ProtectedResourceMetadata, error) {
	server := challenge.Request.URL
	var places []string
	challenges, err := oauthex.ParseWWWAuthenticate(challenge.Header["Www-Authenticate"])
	for _, c := range challenges {
		if at := c.Params["resource_metadata"]; at != "" {
			places = append(places, at)
		}
	}
	for _, path := range []string{strings.TrimSuffix(server.Path, "/"), ""} {
		places = append(places, (&url.URL{Scheme: server.Scheme, Host: server.Host, Path: "/.well-known/oauth-protected-resource" + path}).String())
	}
	for _, at := range places {
		var found *oauthex.ProtectedResourceMetadata
		if found, err = oauthex.GetProtectedResourceMetadata(ctx, at, server.String(), o.Client); err == nil && len(found.AuthorizationServers) > 0 {
			return found, nil
		}
	}
	return nil, errors.Join(errors.New("it does not name its authorization server; sign in without --device"), err)
}

// fetchDeviceEndpoint returns the device authorization endpoint in the metadata of an authorization server, or "".
func (o *Options) fetchDeviceEndpoint(ctx context.Context, issuer string) string {
	u, err := url.Parse(issuer)
	if err != nil {
		return ""
	}
	path := strings.TrimSuffix(u.Path, "/")
	for _, at := range []string{"/.well-known/oauth-authorization-server" + path, "/.well-known/openid-configuration" + path,
		path + "/.well-known/openid-configuration"} {
		u.Path = at
		var metadata struct {
			Issuer   string `json:"issuer"`
			Endpoint string `json:"device_authorization_endpoint"`
		}
		if err := o.getJSON(ctx, u.String(), &metadata); err == nil && strings.TrimSuffix(metadata.Issuer, "/") == strings.TrimSuffix(issuer, "/") {
			return metadata.Endpoint
		}
	}
	return ""
}

func (o *Options) getJSON(ctx context.Context, at string, out any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return err
	}
	resp, err := o.Client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", at, resp.Status)
	}
	return json.NewDecoder(io.LimitReader(resp.Body, maxBytes)).Decode(out)
}
