package network_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// Requests to a host with network.requests are allowed by method and path, with TLS and without. Explain says the same.
func TestRequestsByMethodAndPath(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, s.roots, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newNetworked(t, s, `"allow": ["only.test:%SECURE", "only.test:%PLAIN", "web.test:%PLAIN"],
"requests": {"only.test": ["GET /hello", "GET /hello/**", "!GET /hello/private/**"]}`, "", "SSL_CERT_FILE="+roots)
	for _, base := range []string{"https://only.test:%SECURE", "http://only.test:%PLAIN"} {
		requests := map[string]string{
			"GET /hello":                "",
			"GET /other":                "network: refused \"GET /other\" to only.test:",
			"POST /hello":               "network: refused \"POST /hello\" to only.test:",
			"GET /hello/private/a":      "which \"!GET /hello/private/**\" denies; setting network.requests",
			"GET /hello/../other":       "refused \"GET /hello/../other\" to only.test:%SECURE: a segment of its path is empty, . or ..",
			"GET /hello/%2e%2e/other":   "refused \"GET /hello/%2e%2e/other\" to only.test:%SECURE: a segment of its path is empty, . or ..",
			"GET /hello/a%2f..%2fother": "refused \"GET /hello/a%2f..%2fother\" to only.test:",
		}
		script := ""
		for request := range requests {
			method, path, _ := strings.Cut(request, " ")
			script += "curl -sS --path-as-is -X " + method + " '" + base + path + "'\n"
		}
		r := a.run(script)
		if strings.Count(r.Text, "hello from") != 1 {
			t.Errorf("not one request is allowed: %s", r.FullText())
		}
		for request, want := range requests {
			want = a.ports(want)
			if strings.HasPrefix(base, "http:") {
				want = strings.ReplaceAll(want, s.secure, s.plain)
			}
			if !strings.Contains(r.FullText(), want) {
				t.Errorf("%s%s, want %q: %s", base, request, want, r.FullText())
			}
			method, path, _ := strings.Cut(request, " ")
			cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "explain", "network", method, a.ports(base+path))
			cmd.Env = a.Env
			out, err := cmd.CombinedOutput()
			if want == "" && !strings.Contains(string(out), `"GET /hello" the request`) || !strings.Contains(string(out), want) {
				t.Errorf("explain %s: %v %s", request, err, out)
			}
		}
	}
	if r := a.run("curl -sS http://web.test:%PLAIN/hello"); !strings.Contains(r.Text, "hello from") {
		t.Errorf("a host without rules: %s", r.FullText())
	}
}
