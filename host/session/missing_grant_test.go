package session

import (
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/store"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func TestFailedCallOfServerNamesMissingGrants(t *testing.T) {
	t.Parallel()
	const network, program = "network: none granted; `picoclaw mcp grant s --network ", "program: sed not granted; `picoclaw mcp grant s --program sed`"
	for message, want := range map[string]string{
		"getaddrinfo ENOTFOUND api.example.com":                     network + "api.example.com`",
		"net::ERR_INTERNET_DISCONNECTED at https://example.com/a":   network + "example.com`",
		"curl: (6) Could not resolve host: example.org":             network + "example.org`",
		"dial tcp: lookup example.net on 127.0.0.53:53":             network + "example.net`",
		"TypeError: fetch failed":                                   network + "HOST`",
		"[Errno -3] Temporary failure in name resolution":           network + "HOST`",
		"spawn sed ENOENT":                                          program,
		"[Errno 2] No such file or directory: 'sed'":                program,
		`exec: "sed": executable file not found in $PATH`:           program,
		"bash: line 1: sed: command not found":                      program,
		"spawn no-such-program-here ENOENT":                         "",
		"spawn python3 ENOENT":                                      "", // granted
		"[Errno 2] No such file or directory: '/workspace/missing'": "",
	} {
		p := &catalog.Plugin{Manifest: &pluginpb.Manifest{ID: "s"},
			Pin: &store.InstalledPlugin{Program: "mcp", Grants: pluginpb.Grant{Programs: []string{"python3"}}}}
		r := &Result{Err: &Error{Message: message}}
		if r.addMissingGrants(p); (r.Text != "") != (want != "") || !strings.Contains(r.Text, want) {
			t.Errorf("%s: %q, want %q", message, r.Text, want)
		}
		p.Pin.Program = ""
		other := &Result{Err: &Error{Message: message}}
		if other.addMissingGrants(p); other.Text != "" {
			t.Errorf("%s: a plugin of another kind: %q", message, other.Text)
		}
	}
}
