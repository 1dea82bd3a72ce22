// Package login signs in to remote MCP servers by OAuth, and keeps and refreshes the access tokens in <home>/logins.json.
// Several processes may use a home at once. The package must not know plugins, agents or sandboxes: these never get a
// token.
package login

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/oauth2"

	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/internal/statefiles"
)

const (
	fileName = "logins.json"
	maxBytes = 1 << 20
	// requestTimeout limits each request to a server.
	requestTimeout = 30 * time.Second
)

// Login is what an authorization server has issued for an MCP server.
type Login struct {
	Server       string           `json:"server"` // URL
	ClientID     string           `json:"client_id"`
	ClientSecret string           `json:"client_secret,omitempty"`
	TokenURL     string           `json:"token_url"`
	AuthStyle    oauth2.AuthStyle `json:"auth_style"` // how the token URL expects the client's credentials
	Token        *oauth2.Token    `json:"token"`
}

// FindLogin returns the login of the server with a name; nil without one.
func FindLogin(home, name string) (*Login, error) {
	all, err := readLogins(home)
	return all[name], err
}

// FetchAccessToken returns a valid access token for the server with a name. It refreshes a token that has expired.
func FetchAccessToken(ctx context.Context, home, name string) (string, error) {
	l, err := FindLogin(home, name)
	if err == nil && l != nil && !l.Token.Valid() {
		err = updateLogins(home, func(all map[string]*Login) (changed bool, err error) {
			if l = all[name]; l == nil || l.Token.Valid() { // another process was faster
				return false, nil
			}
			return true, l.refreshToken(ctx)
		})
	}
	remedy := fmt.Sprintf("sign in with `picoclaw mcp login %s`", name)
	switch {
	case err != nil:
		return "", fmt.Errorf("the login at the server %s: %w; %s", name, err, remedy)
	case l == nil:
		return "", fmt.Errorf("there is no login at the server %s; %s", name, remedy)
	}
	return l.Token.AccessToken, nil
}

// RemoveLogin removes the login of the server with a name. It reports whether there was one.
func RemoveLogin(home, name string) (removed bool, err error) {
	if l, findErr := FindLogin(home, name); findErr != nil || l == nil {
		return false, findErr
	}
	err = updateLogins(home, func(all map[string]*Login) (bool, error) {
		_, removed = all[name]
		delete(all, name)
		return removed, nil
	})
	return removed, err
}

// refreshToken replaces an expired access token by means of the refresh token.
func (l *Login) refreshToken(ctx context.Context) error {
	if l.Token.RefreshToken == "" {
		return errors.New("it has expired")
	}
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	config := oauth2.Config{ClientID: l.ClientID, ClientSecret: l.ClientSecret,
		Endpoint: oauth2.Endpoint{TokenURL: l.TokenURL, AuthStyle: l.AuthStyle}}
	token, err := config.TokenSource(withClient(ctx, nil), &oauth2.Token{RefreshToken: l.Token.RefreshToken}).Token()
	var refused *oauth2.RetrieveError
	switch {
	case errors.As(err, &refused) && refused.ErrorCode != "":
		return fmt.Errorf("%s refused to refresh it: %s", l.TokenURL, refused.ErrorCode)
	case err != nil:
		return fmt.Errorf("refresh it: %w", err)
	}
	l.Token = token // with the old refresh token if there is no new one
	return nil
}

// withClient returns a context that makes oauth2 use a client; the default one for nil.
func withClient(ctx context.Context, c *http.Client) context.Context {
	if c == nil {
		c = &http.Client{Timeout: requestTimeout}
	}
	return context.WithValue(ctx, oauth2.HTTPClient, c)
}

func readLogins(home string) (map[string]*Login, error) {
	path := filepath.Join(home, fileName)
	all := map[string]*Login{}
	data, err := smallfile.Read(path, maxBytes)
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
		return all, statefiles.CheckNotMissing(home, path)
	}
	if err == nil {
		err = json.Unmarshal(data, &all)
	}
	for name, l := range all {
		if err == nil && (l == nil || l.Token == nil || l.Server == "") {
			err = fmt.Errorf("the login at %s is incomplete", name)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore a copy, or delete the file and sign in again", path, err)
	}
	return all, nil
}

// updateLogins changes the logins under a lock between processes, if change reports a change.
func updateLogins(home string, change func(map[string]*Login) (bool, error)) error {
	err := statefiles.UpdateFile(home, fileName, func() ([]byte, error) {
		all, err := readLogins(home)
		if err != nil {
			return nil, err
		}
		if changed, err := change(all); err != nil || !changed {
			return nil, err
		}
		return json.MarshalIndent(all, "", "  ")
	})
	if err != nil {
		return err
	}
	return statefiles.AddToList(home, filepath.Join(home, fileName))
}
