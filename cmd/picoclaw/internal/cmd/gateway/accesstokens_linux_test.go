package gateway_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// tokenIssuer is an authorization server's key, which signs access tokens.
type tokenIssuer struct {
	t   *testing.T
	url string
	key *ecdsa.PrivateKey
}

func newTokenIssuer(t *testing.T) *tokenIssuer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	point, err := key.PublicKey.Bytes()
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256","use":"sig","kid":"k","x":%q,"y":%q}]}`,
			base64.RawURLEncoding.EncodeToString(point[1:33]), base64.RawURLEncoding.EncodeToString(point[33:]))
	}))
	t.Cleanup(s.Close)
	return &tokenIssuer{t, s.URL, key}
}

// sign returns a token with claims that the changes replace.
func (i *tokenIssuer) sign(changes map[string]any) string {
	i.t.Helper()
	claims := map[string]any{"iss": i.url, "aud": audience, "sub": "alice", "exp": time.Now().Add(time.Hour).Unix()}
	maps.Copy(claims, changes)
	payload, err := json.Marshal(claims)
	if err != nil {
		i.t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256","kid":"k"}`)) + "." + base64.RawURLEncoding.EncodeToString(payload)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, i.key, sum[:])
	if err != nil {
		i.t.Fatal(err)
	}
	return text + "." + base64.RawURLEncoding.EncodeToString(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

const audience = "https://tools.example.com/mcp"

func TestGatewayAcceptsAccessTokens(t *testing.T) {
	t.Parallel()
	issuer, other := newTokenIssuer(t), newTokenIssuer(t)
	other.url = issuer.url
	in := clitest.NewHome(t)
	in.WriteConfig(t, fmt.Sprintf(`{"agents": {"list": [{"id": "main"}, {"id": "second"}]}, "gateway": {"port": 0, "oauth": {"issuer": %q, "jwks": %q,
		"audience": %q, "agents": {"main": ["alice", "bob@example.com"]}}}}`, issuer.url, issuer.url+"/keys", audience))
	_, url := in.StartGateway(t)
	for name, c := range map[string]struct {
		path, token string
		want        int
	}{
		"subject":              {"main", issuer.sign(nil), 200},
		"audience of an agent": {"main", issuer.sign(map[string]any{"aud": []string{"x", audience + "/main"}}), 200},
		"e-mail address":       {"main", issuer.sign(map[string]any{"sub": "b", "email": "bob@example.com", "email_verified": true}), 200},
		"unverified address":   {"main", issuer.sign(map[string]any{"sub": "b", "email": "bob@example.com"}), 401},
		"other person":         {"main", issuer.sign(map[string]any{"sub": "eve"}), 401},
		"other agent":          {"second", issuer.sign(nil), 401},
		"other audience":       {"main", issuer.sign(map[string]any{"aud": audience + "/second"}), 401},
		"expired":              {"main", issuer.sign(map[string]any{"exp": time.Now().Add(-time.Minute).Unix()}), 401},
		"not yet valid":        {"main", issuer.sign(map[string]any{"nbf": time.Now().Add(time.Hour).Unix()}), 401},
		"other issuer":         {"main", issuer.sign(map[string]any{"iss": "https://example.com"}), 401},
		"other key":            {"main", other.sign(nil), 401},
		"without a signature":  {"main", issuer.sign(nil)[:strings.LastIndex(issuer.sign(nil), ".")+1], 401},
		"algorithm none": {"main", base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." +
			strings.Split(issuer.sign(nil), ".")[1] + ".", 401},
		"own token": {"main", in.GatewayToken(t, "main"), 200},
	} {
		status, answer, headers := clitest.PostMCP(t, url+"/mcp/"+c.path, c.token, clitest.InitializeMessage, nil)
		if status != c.want {
			t.Errorf("%s: %d %s", name, status, answer)
		}
		if challenge := headers.Get("WWW-Authenticate"); status == 401 && !strings.Contains(challenge,
			`resource_metadata="https://tools.example.com/.well-known/oauth-protected-resource/mcp/`+c.path+`"`) {
			t.Errorf("%s: the challenge is %s", name, challenge)
		}
	}
	resp, err := http.Get(url + "/.well-known/oauth-protected-resource/mcp/main")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	if body, err := io.ReadAll(resp.Body); err != nil || !strings.Contains(string(body), `"resource":"`+audience+`/main"`) ||
		!strings.Contains(string(body), issuer.url) {
		t.Errorf("%s %v", body, err)
	}
}

func TestIncompleteAccessTokenSettings(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		`"issuer": "https://x"`: "gateway.oauth.issuer requires gateway.oauth.jwks and gateway.oauth.audience",
		`"issuer": "https://x", "jwks": "https://x/k", "audience": "a", "agents": {"mian": ["*"]}`: "did you mean",
	} {
		in := clitest.NewHome(t)
		in.WriteConfig(t, `{"gateway": {"port": 0, "oauth": {`+settings+`}}}`)
		if out, code := in.Run(t, "gateway"); code == 0 || !strings.Contains(out, want) {
			t.Errorf("%s: %d %s", settings, code, out)
		}
	}
}
