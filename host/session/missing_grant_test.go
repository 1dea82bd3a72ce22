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
		"getaddrinfo ENOTFOUND api.example.com":                                                 network + "api.example.com`",
		"net::ERR_INTERNET_DISCONNECTED at https://example.com/a":                               network + "example.com`",
		"curl: (6) Could not resolve host: example.org":                                         network + "example.org`",
		"dial tcp: lookup example.net on 127.0.0.53:53":                                         network + "example.net`",
		"TypeError: fetch failed":                                                               network + "HOST`",
		"[Errno -3] Temporary failure in name resolution":                                       network + "HOST`",
		"connect ECONNREFUSED 127.0.0.1:5432":                                                   network + "localhost:5432`",
		"connect ECONNREFUSED ::1:5432":                                                         network + "localhost:5432`",
		"dial tcp [::1]:6379: connect: connection refused":                                      network + "localhost:6379`",
		"dial tcp 127.0.0.1:6379: connect: connection refused":                                  network + "localhost:6379`",
		"[Errno 111] Connect call failed ('127.0.0.1', 5432)":                                   network + "localhost:5432`",
		"[Errno 111] Connection refused":                                                        network + "localhost:PORT`",
		"net::ERR_CONNECTION_REFUSED at http://localhost:3000/":                                 network + "localhost:3000`",
		"Error 111 connecting to localhost:6379. Connection refused.":                           network + "localhost:6379`",
		"HTTPConnectionPool(host='localhost', port=8080): Connection refused":                   network + "localhost:8080`",
		`connection to server at "localhost" (127.0.0.1), port 5432 failed: Connection refused`: network + "localhost:5432`",
		"Failed to connect to localhost port 8080 after 0 ms: Couldn't connect to server":       network + "localhost:8080`",
		"listening on 127.0.0.1:80":                                                             "",
		"spawn sed ENOENT":                                                                      program,
		"[Errno 2] No such file or directory: 'sed'":                                            program,
		`exec: "sed": executable file not found in $PATH`:                                       program,
		"bash: line 1: sed: command not found":                                                  program,
		"spawn no-such-program-here ENOENT":                                                     "",
		"spawn python3 ENOENT":                                                                  "", // granted
		"[Errno 2] No such file or directory: '/workspace/missing'":                             "",
	} {
		p := &catalog.Plugin{Manifest: &pluginpb.Manifest{ID: "s"},
			Pin: &store.InstalledPlugin{PluginVersion: store.PluginVersion{Program: "mcp"},
				Grants: pluginpb.Grant{Programs: []string{"python3"}}}}
		r := &Result{Err: &Error{Message: message}}
		if r.addMissingGrantHints(p, nil); (r.Text != "") != (want != "") || !strings.Contains(r.Text, want) ||
			strings.Count(r.Text, "--network") > 1 {
			t.Errorf("%s: %q, want %q", message, r.Text, want)
		}
		p.Pin.Program = ""
		other := &Result{Err: &Error{Message: message}}
		if other.addMissingGrantHints(p, nil); other.Text != "" {
			t.Errorf("%s: a plugin of another kind: %q", message, other.Text)
		}
	}
}

func TestRefusedHostsOfServerAreNamedAsGrants(t *testing.T) {
	t.Parallel()
	p := &catalog.Plugin{Manifest: &pluginpb.Manifest{ID: "s"}, Pin: &store.InstalledPlugin{
		PluginVersion: store.PluginVersion{Program: "mcp"}, Grants: pluginpb.Grant{Network: true, Hosts: []string{"a.test", "localhost:5432"}}}}
	refused := []string{
		"network: refused b.test; setting network.allow", "network: refused a.test:22, which is allowed on port 80; setting network.allow",
		"network: refused 10.0.0.5:8080; setting network.allow; for this call or another that ran at the same time",
		"network: refused [fd00::5]:8080; setting network.allow",
		"network: refused c.test:99, as none of its addresses [10.0.0.6] is public or named; setting network.allow, as a network such as 10.0.0.6/32:99",
		"network: refused a.test; setting network.allow", // granted, but not allowed to the agent
		`network: refused d.test, which "d.test" denies; setting network.deny`, "network: refused b.test; setting network.allow",
	}
	var want []string
	for _, host := range []string{"b.test", "a.test:22", "10.0.0.5/32:8080", "[fd00::5/128]:8080", "10.0.0.6/32:99"} {
		want = append(want, "network: "+host+" not granted; `picoclaw mcp grant s --network "+host+"`")
	}
	r := &Result{Err: &Error{Message: "dial tcp 127.0.0.1:5432: connect: connection refused, and so is ::1:5433"}}
	r.addMissingGrantHints(p, refused)
	want = append(want, "network: localhost:5433 not granted; `picoclaw mcp grant s --network localhost:5433`")
	if got := strings.Join(want, "; "); r.Err.Hint != got {
		t.Errorf("%s, want %s", r.Err.Hint, got)
	}
	if text := "[" + strings.Join(append(want, refused[5:7]...), "]\n[") + "]"; r.Text != text {
		t.Errorf("%s, want %s", r.Text, text)
	}
	p.Pin.Program = ""
	other := &Result{}
	if other.addMissingGrantHints(p, refused[:1]); other.Text != "["+refused[0]+"]" {
		t.Errorf("a plugin of another kind: %s", other.Text)
	}
}
