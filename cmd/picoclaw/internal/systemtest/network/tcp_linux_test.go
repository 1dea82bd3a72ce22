package network_test

import (
	"net"
	"os/exec"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// listenFirst waits for the server's first bytes, sends a line, and prints all of the answer.
const listenFirst = `listen_first() { /usr/bin/python3 -c 'import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 1.5)
try:
    print(s.recv(1000), flush=True); s.sendall(b"\0from inside"); s.shutdown(socket.SHUT_WR)
    while b := s.recv(1000): print(b, flush=True)
except OSError as e: print(e)' "$@"; }
`

// An entry with tcp:// permits every protocol on its port, also one in which the server begins. Other entries permit TLS and
// HTTP, and a refusal names the form with tcp://. Explain says the same.
func TestAnyProtocolByName(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	named, standard, denied := greeter(t), greeter(t), greeter(t)
	a := newNetworked(t, s, `"deny": ["evil.test"], "allow": ["tcp://only.test:`+named+`", "other.test:`+standard+`", "tcp://*.test:`+denied+`"]`, "")
	for name, c := range map[string]struct{ script, want string }{
		"named":     {"listen_first only.test " + named, "from inside"},
		"subdomain": {"listen_first other.test " + denied, "from inside"},
		// The host sees the end of the first connection during the second.
		"TLS and HTTP": {"listen_first other.test " + standard + "; listen_first other.test " + standard, "[network: refused a connection to other.test:" + standard + ", which begins with neither TLS nor HTTP; setting network.allow, as tcp://other.test:" + standard + "]"},
		"other port":   {"listen_first only.test " + standard, "[network: refused only.test:" + standard},
		"denied":       {"listen_first evil.test " + denied, "[network: refused evil.test"},
		"by proxy": {`/usr/bin/python3 -c 'import socket, sys
s = socket.create_connection(("127.0.0.1", 3128)); s.sendall(b"CONNECT only.test:` + named + ` HTTP/1.1\r\nHost: only.test:` + named + `\r\n\r\n")
print(s.recv(1000)); s.sendall(b"\0from inside"); s.shutdown(socket.SHUT_WR)
while b := s.recv(1000): print(b)'`, "from inside"},
		"no such address": {"listen_first 198.51.100.7 " + named, "[network: refused 198.51.100.7:" + named + "; setting network.allow]"},
	} {
		t.Run(name, func(t *testing.T) {
			r := a.run(listenFirst + c.script)
			if !strings.Contains(r.FullText(), c.want) || strings.Contains(r.Text, "greetings") != (c.want == "from inside") {
				t.Errorf("no %q in: %s", c.want, r.FullText())
			}
		})
	}
	for place, want := range map[string]string{
		"only.test:" + named:           `"tcp://only.test:` + named + `" allows it`,
		"tcp://only.test:" + named:     `"tcp://only.test:` + named + `" allows it`,
		"other.test:" + standard:       `for TLS and HTTP; "tcp://other.test:` + standard + `" allows any protocol`,
		"tcp://other.test:" + standard: `"other.test:` + standard + `" allows TLS and HTTP only`,
	} {
		cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "explain", "network", place)
		cmd.Env = a.Env
		if out, err := cmd.CombinedOutput(); !strings.Contains(string(out), want) {
			t.Errorf("explain %s: %v %s", place, err, out)
		}
	}
	if !a.recorded(networkRecord{"only.test", named, "allow"}) || !a.recorded(networkRecord{"other.test", standard, "deny"}) {
		t.Error("the connections are not in the audit log")
	}
}

// Programs reach an allowed address without the proxy.
func TestAnyProtocolByAddress(t *testing.T) {
	t.Parallel()
	own := ownAddress(t)
	l, err := net.Listen("tcp", net.JoinHostPort(own, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	port := portAt(l.Addr())
	go greet(l)
	a := newNetworked(t, newSite(t), `"allow": ["tcp://`+own+`/32:`+port+`", "`+own+`/32:1"]`, "")
	for script, want := range map[string]string{
		"listen_first " + own + " " + port: "from inside",
		"listen_first " + own + " 1":       "[network: can't connect to " + own + ":1",
	} {
		if r := a.run(listenFirst + script); !strings.Contains(r.FullText(), want) {
			t.Errorf("%s: no %q in: %s", script, want, r.FullText())
		}
	}
}

// ownAddress returns an IPv4 address of this machine other than loopback.
func ownAddress(t *testing.T) string {
	t.Helper()
	all, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.To4() != nil && !n.IP.IsLoopback() {
			return n.IP.String()
		}
	}
	t.Skip("this machine has no address other than loopback")
	return ""
}
