package login_test

import (
	"context"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/host/login"
	"github.com/picoclaw/picoclaw/host/login/logintest"
)

// visit returns a Show that opens the page as a browser does.
func visit(t *testing.T) func(page, code string) {
	return func(page, code string) {
		if code != "" {
			return // the test server needs no person for a device
		}
		go func() {
			resp, err := http.Get(page)
			if err != nil {
				t.Error(err)
				return
			}
			_ = resp.Body.Close()
		}()
	}
}

func signIn(t *testing.T, home string, s *logintest.Server, o login.Options) {
	t.Helper()
	o.Show = visit(t)
	if requested, err := login.SignIn(t.Context(), home, "far", s.MCPURL, o); !requested || err != nil {
		t.Fatal(requested, err)
	}
}

func TestSignIn(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]login.Options{"browser": {}, "device": {Device: true}, "registered client": {ClientID: "known"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home, s := t.TempDir(), logintest.NewServer(t, http.NotFoundHandler())
			signIn(t, home, s, o)
			// The first token has expired for clients, so all of these refresh it, one of them.
			var wg sync.WaitGroup
			for range 5 {
				wg.Go(func() {
					if _, err := login.FetchAccessToken(t.Context(), home, "far"); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			token, err := login.FetchAccessToken(t.Context(), home, "far")
			if err != nil || token != s.AccessToken() || s.Refreshes() == 0 {
				t.Error(token, err, s.Refreshes())
			}
			if info, err := os.Stat(filepath.Join(home, "logins.json")); err != nil || info.Mode().Perm() != 0o600 {
				t.Error(info, err)
			}
			s.Revoke()
			_, err = login.FetchAccessToken(t.Context(), home, "far")
			if err == nil || !strings.Contains(err.Error(), "invalid_grant") || !strings.Contains(err.Error(), "picoclaw mcp login far") {
				t.Error(err)
			}
			if removed, err := login.RemoveLogin(home, "far"); !removed || err != nil {
				t.Error(removed, err)
			}
			if _, err = login.FetchAccessToken(t.Context(), home, "far"); err == nil || !strings.Contains(err.Error(), "there is no login") {
				t.Error(err)
			}
		})
	}
}

func TestServerWithoutLogin(t *testing.T) {
	t.Parallel()
	s := logintest.NewServer(t, http.NotFoundHandler())
	requested, err := login.SignIn(t.Context(), t.TempDir(), "far", s.URL+"/elsewhere", login.Options{})
	if requested || err != nil {
		t.Error(requested, err)
	}
}

// Another page in the browser can't answer in place of the authorization server.
func TestCallbackNeedsState(t *testing.T) {
	t.Parallel()
	home, s := t.TempDir(), logintest.NewServer(t, http.NotFoundHandler())
	o := login.Options{Show: func(page, _ string) {
		u, err := url.Parse(page)
		if err != nil {
			t.Error(err)
			return
		}
		for _, state := range []string{"", "state=guessed"} {
			resp, err := http.Get(u.Query().Get("redirect_uri") + "?code=stolen&" + state)
			if err != nil {
				t.Error(err)
				return
			}
			if _ = resp.Body.Close(); resp.StatusCode != http.StatusBadRequest {
				t.Error(state, resp.Status)
			}
		}
		visit(t)(page, "")
	}}
	if _, err := login.SignIn(t.Context(), home, "far", s.MCPURL, o); err != nil {
		t.Error(err)
	}
}

func TestRefusedLogin(t *testing.T) {
	t.Parallel()
	home, s := t.TempDir(), logintest.NewServer(t, http.NotFoundHandler())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o := login.Options{Show: func(page, _ string) {
		u, _ := url.Parse(page)
		q := url.Values{"state": {u.Query().Get("state")}, "error": {"access_denied"}}
		resp, err := http.Get(u.Query().Get("redirect_uri") + "?" + q.Encode())
		if err == nil {
			_ = resp.Body.Close()
		}
	}}
	if _, err := login.SignIn(ctx, home, "far", s.MCPURL, o); err == nil || !strings.Contains(err.Error(), "access_denied") {
		t.Error(err)
	}
	o.Show = func(string, string) { cancel() }
	if _, err := login.SignIn(ctx, home, "far", s.MCPURL, o); err == nil {
		t.Error("a cancelled login succeeded")
	}
	if l, err := login.FindLogin(home, "far"); l != nil || err != nil {
		t.Error(l, err)
	}
}

func TestDamagedLoginsAreNamed(t *testing.T) {
	t.Parallel()
	home, s := t.TempDir(), logintest.NewServer(t, http.NotFoundHandler())
	signIn(t, home, s, login.Options{})
	path := filepath.Join(home, "logins.json")
	for _, text := range []string{"", "{", `{"far":null}`, `{"far":{"server":"x"}}`, "missing"} {
		err := os.WriteFile(path, []byte(text), 0o600)
		if text == "missing" {
			err = os.Remove(path)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, err := login.FetchAccessToken(t.Context(), home, "far"); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// A server can't make picoclaw open other things than pages.
func TestLoginPageMustBeWebPage(t *testing.T) {
	t.Parallel()
	for _, endpoint := range []string{"file:///etc/passwd", "vscode://x/y", "http://far.example/authorize", "-x"} {
		s := logintest.NewServer(t, http.NotFoundHandler())
		s.AuthorizeURL = endpoint
		shown := func(page, _ string) { t.Errorf("%s is shown", page) }
		if requested, err := login.SignIn(t.Context(), t.TempDir(), "far", s.MCPURL, login.Options{Show: shown}); !requested || err == nil {
			t.Errorf("%s: %v %v", endpoint, requested, err)
		}
	}
}
