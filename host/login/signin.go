package login

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"golang.org/x/oauth2"
)

// Options are the operator's choices for a login.
type Options struct {
	// ClientID and ClientSecret are the credentials of a client that is registered already. Without them, SignIn
	// registers one.
	ClientID, ClientSecret string
	CallbackPort           int      // of this machine, where the browser returns to; 0 for any
	Scopes                 []string // additional ones
	Device                 bool     // use the device flow: the browser may be on another machine
	// Show shows the page on which a person signs in, and for the device flow the code to enter there.
	Show   func(page, code string)
	Client *http.Client // nil for the default one
}

// clientName is the name that authorization servers show to people.
const clientName = "picoclaw"

// signInTimeout limits the time of the person who signs in.
const signInTimeout = 10 * time.Minute

// SignIn signs in to an MCP server that requests it, and keeps the login under a name. It reports whether the server
// requests a login.
func SignIn(ctx context.Context, home, name, server string, o Options) (requested bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, signInTimeout)
	defer cancel()
	if o.Client == nil {
		o.Client = &http.Client{Timeout: requestTimeout}
	}
	ctx = withClient(ctx, o.Client)
	challenge, err := requestChallenge(ctx, server, o.Client)
	if err != nil || challenge == nil {
		return false, err
	}
	defer func() { _ = challenge.Body.Close() }()
	save := func(config *oauth2.Config, token *oauth2.Token) error {
		return updateLogins(home, func(all map[string]*Login) (bool, error) {
			all[name] = &Login{Server: server, ClientID: config.ClientID, ClientSecret: config.ClientSecret,
				TokenURL: config.Endpoint.TokenURL, AuthStyle: config.Endpoint.AuthStyle, Token: token}
			return true, nil
		})
	}
	if o.Device {
		err = o.authorizeDevice(ctx, challenge, save)
	} else {
		err = o.authorizeInBrowser(ctx, challenge, save)
	}
	if err != nil {
		err = fmt.Errorf("sign in to %s: %w", server, err)
	}
	return true, err
}

// probes are a client's first requests to an MCP server. Some servers request a login for the second one only.
var probes = []string{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25",` +
	`"capabilities":{},"clientInfo":{"name":"picoclaw","version":"1"}}}`, `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`}

// requestChallenge returns the server's response to a request without a login if it requests one; otherwise nil.
func requestChallenge(ctx context.Context, server string, client *http.Client) (*http.Response, error) {
	session := ""
	for _, probe := range probes {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, server, strings.NewReader(probe))
		if err != nil {
			return nil, err
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		if session != "" {
			req.Header.Set("Mcp-Session-Id", session)
		}
		resp, err := client.Do(req)
		switch {
		case err != nil:
			return nil, err
		case resp.StatusCode == http.StatusUnauthorized && (req.URL.Scheme == "https" || IsLoopback(req.URL.Hostname())):
			return resp, nil
		case resp.StatusCode == http.StatusUnauthorized:
			err = fmt.Errorf("%s requests a login without TLS, where others could read the token; use https", server)
		}
		session = resp.Header.Get("Mcp-Session-Id")
		if err = errors.Join(err, resp.Body.Close()); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// IsLoopback reports whether a host is this machine.
func IsLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// authorizeInBrowser signs in by the authorization code flow with PKCE. The browser returns to a port of this machine.
func (o *Options) authorizeInBrowser(ctx context.Context, challenge *http.Response, save func(*oauth2.Config, *oauth2.Token) error) error {
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", o.CallbackPort))
	if err != nil {
		return fmt.Errorf("listen for the browser: %w", err)
	}
	defer func() { _ = l.Close() }()
	redirect := fmt.Sprintf("http://127.0.0.1:%d/callback", l.Addr().(*net.TCPAddr).Port)
	config := &auth.AuthorizationCodeHandlerConfig{
		RedirectURL: redirect, RequestRefreshToken: true, Client: o.Client,
		ScopeFilter: func(found []string) []string { return append(slices.Clone(found), o.Scopes...) },
		AuthorizationCodeFetcher: func(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			return o.awaitCallback(ctx, l, args.URL)
		},
		NewTokenSource: func(_ context.Context, c *oauth2.Config, token *oauth2.Token) (oauth2.TokenSource, error) {
			return oauth2.StaticTokenSource(token), save(c, token)
		},
	}
	if o.ClientID != "" {
		config.PreregisteredClient = o.registeredClient()
	} else {
		config.DynamicClientRegistrationConfig = &auth.DynamicClientRegistrationConfig{Metadata: &oauthex.ClientRegistrationMetadata{
			ClientName: clientName, RedirectURIs: []string{redirect}, GrantTypes: []string{"authorization_code", "refresh_token"},
			ResponseTypes: []string{"code"}, TokenEndpointAuthMethod: "none",
		}}
	}
	handler, err := auth.NewAuthorizationCodeHandler(config)
	if err != nil {
		return err
	}
	return explainRegistration(handler.Authorize(ctx, challenge.Request, challenge), o.ClientID)
}

func (o *Options) registeredClient() *oauthex.ClientCredentials {
	c := &oauthex.ClientCredentials{ClientID: o.ClientID}
	if o.ClientSecret != "" {
		c.ClientSecretAuth = &oauthex.ClientSecretAuth{ClientSecret: o.ClientSecret}
	}
	return c
}

// explainRegistration adds the remedy to the error of a server that registers no clients.
func explainRegistration(err error, clientID string) error {
	if err != nil && clientID == "" && strings.Contains(err.Error(), "registration") {
		return fmt.Errorf("%w; if the server registers no clients, register picoclaw there and name it with --client-id", err)
	}
	return err
}

// parsePage parses the URL of a page that a person is to open. A server may have named any URL, such as one that starts a
// program.
func parsePage(page string) (*url.URL, error) {
	u, err := url.Parse(page)
	if err == nil && u.Scheme != "https" && (u.Scheme != "http" || !IsLoopback(u.Hostname())) {
		err = fmt.Errorf("the server names the page %q; it must begin with https://", page)
	}
	return u, err
}

// awaitCallback shows the page on which a person signs in, and waits for the browser to return from there.
func (o *Options) awaitCallback(ctx context.Context, l net.Listener, page string) (*auth.AuthorizationResult, error) {
	u, err := parsePage(page)
	if err != nil {
		return nil, err
	}
	state := u.Query().Get("state")
	type outcome struct {
		result *auth.AuthorizationResult
		err    error
	}
	outcomes := make(chan outcome, 1)
	server := &http.Server{ReadHeaderTimeout: requestTimeout, Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		q := r.URL.Query()
		if r.URL.Path != "/callback" || q.Get("state") != state {
			http.Error(w, "This is not the answer to a login that picoclaw waits for.", http.StatusBadRequest)
			return
		}
		got, text := outcome{result: &auth.AuthorizationResult{Code: q.Get("code"), State: state, Iss: q.Get("iss")}}, "You are signed in."
		if q.Get("error") != "" {
			got.err = fmt.Errorf("the server refused: %s", cmp.Or(q.Get("error_description"), q.Get("error")))
			text = "You are not signed in."
		}
		select {
		case outcomes <- got:
		default: // a second answer
		}
		_, _ = io.WriteString(w, text+" Close this page and return to picoclaw.\n")
	})}
	go func() { _ = server.Serve(l) }()
	defer func() { // after the answer to the browser
		quick, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = server.Shutdown(quick)
	}()
	o.Show(page, "")
	select {
	case got := <-outcomes:
		return got.result, got.err
	case <-ctx.Done():
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			return nil, fmt.Errorf("nobody has signed in within %v", signInTimeout)
		}
		return nil, ctx.Err()
	}
}
