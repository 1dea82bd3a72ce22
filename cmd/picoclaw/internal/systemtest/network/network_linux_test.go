package network_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
)

// These tests run programs of many kinds in sandboxes that reach hosts by name, with servers of their own on loopback.

// networked is an agent whose commands reach a site.
type networked struct {
	*clitest.Agent
	site *site
	call func(clitest.ToolCall) clitest.CallResult
}

// newNetworked makes an agent with settings of the network, and more of the top level, which begin with a comma. A
// %PLAIN and the like in them stands for a port of the site.
func newNetworked(t *testing.T, s *site, network, more string, env ...string) *networked {
	t.Helper()
	n := &networked{Agent: clitest.NewAgent(t, true, env...), site: s}
	hosts := map[string][]string{}
	for _, name := range siteNames {
		hosts[name] = []string{"127.0.0.1"}
	}
	addresses, err := json.Marshal(hosts)
	if err != nil {
		t.Fatal(err)
	}
	config := n.ports(fmt.Sprintf(`{"network": {"hosts": %s, %s}%s}`, addresses, network, more))
	if err := os.WriteFile(filepath.Join(n.Home, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	n.write("ca.pem", string(s.roots))
	return n
}

// ports puts the site's ports into a text.
func (n *networked) ports(text string) string {
	return strings.NewReplacer("%PLAIN", n.site.plain, "%SECURE", n.site.secure, "%SIX", n.site.six, "%RPC", n.site.rpc).
		Replace(text)
}

func (n *networked) write(name, text string) {
	n.T.Helper()
	if err := os.WriteFile(filepath.Join(n.Workspace, name), []byte(text), 0o644); err != nil {
		n.T.Fatal(err)
	}
}

// run runs a script with bash. No guard reads it, as it is in a file.
func (n *networked) run(script string) clitest.CallResult {
	n.T.Helper()
	if n.call == nil {
		n.call = n.StartBatch()
	}
	n.write("script", n.ports(script))
	return n.call(clitest.NewExecCall("bash -e script"))
}

// everything is a network with all that the site is for.
const everything = `"allow": ["web.test:%PLAIN", "web.test:%SECURE", "git.test:%SECURE", "npm.test:%SECURE",
"pip.test:%SECURE", "go.test:%SECURE", "go.test:%PLAIN", "rpc.test:%RPC", "[::1/128]:%SIX"]`

// unproxied has programs know of no proxy.
const unproxied = "unset HTTP_PROXY HTTPS_PROXY ALL_PROXY http_proxy https_proxy all_proxy NODE_USE_ENV_PROXY\n"

// webSocket talks through a proxy, or without one, with a server that says the same.
const webSocket = `cat > ws.py <<'E'
import base64, os, socket, ssl, sys
host, port, secure, proxied = sys.argv[1], sys.argv[2], sys.argv[3] == "wss", sys.argv[4] == "proxy"
s = socket.create_connection(("127.0.0.1", 3128) if proxied else (host, int(port)))
def head():
    text = b""
    while not text.endswith(b"\r\n\r\n"):
        c = s.recv(1)
        assert c, text
        text += c
    return text
if proxied:
    s.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
    assert b" 200 " in head()
if secure:
    s = ssl.create_default_context(cafile=os.environ.get("SSL_CERT_FILE", "ca.pem")).wrap_socket(s, server_hostname=host)
key = base64.b64encode(os.urandom(16)).decode()
path = sys.argv[5] if len(sys.argv) > 5 else "/chat"
s.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n").encode())
answer = head()
assert b" 101 " in answer, answer
said, mask = b"from a socket", b"\x01\x02\x03\x04"
s.sendall(bytes([0x81, 0x80 | len(said)]) + mask + bytes(c ^ mask[i % 4] for i, c in enumerate(said)))
got = b""
while len(got) < 2 or len(got) < 2 + got[1]:
    more = s.recv(100)
    assert more, got
    got += more
print("echo", got[2:].decode())
E
`

// nodeSocket is a WebSocket of Node.js, which knows of no proxy.
const nodeSocket = `node --experimental-websocket -e '
const s = new WebSocket(process.argv[1]);
s.onopen = () => s.send("from node");
s.onmessage = (m) => { console.log("echo", m.data); s.close(); };
s.onerror = (e) => { console.log("failed", e.message, e.error); process.exit(1); };' `

// health asks the health service of gRPC, with a third argument as whoever names no authority. The messages are so
// short that they are written out.
const health = `cat > rpc.py <<'E'
import grpc, sys
options = [("grpc.enable_http_proxy", int(sys.argv[2]))]
credentials = grpc.ssl_channel_credentials(open("ca.pem", "rb").read() if len(sys.argv) < 4 else None)
with grpc.secure_channel(sys.argv[1], credentials, options) as channel:
    print("health", channel.unary_unary("/grpc.health.v1.Health/Check")(b"", timeout=30))
E
`

// committer is what git needs to commit.
const committer = "export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b\n"

// reaching are programs as people use them, and what they are to say.
var reaching = []struct{ name, script, want string }{
	{"curl", `curl -sS http://web.test:%PLAIN/hello`, "hello from web.test:%PLAIN"},
	{"curl without a proxy", `curl -sS --noproxy '*' http://web.test:%PLAIN/hello`, "hello from web.test:%PLAIN"},
	{"curl that wants IPv4", `curl -4 -sS --noproxy '*' http://web.test:%PLAIN/hello`, "hello from web.test:%PLAIN"},
	{"the C library where it looks for what this machine has", `getent ahostsv4 web.test`, "STREAM web.test"},
	{"node that looks for what this machine has", unproxied + `node -e '
const options = {host: "web.test", port: %PLAIN, path: "/hello", family: 4, hints: require("dns").ADDRCONFIG};
require("http").get(options, r => r.pipe(process.stdout))'`, "hello from web.test:%PLAIN"},
	{"curl over TLS", `curl -sS --cacert ca.pem https://web.test:%SECURE/hello`, "hello from web.test:%SECURE"},
	{"curl over TLS without a proxy", `curl -sS --noproxy '*' --cacert ca.pem https://web.test:%SECURE/hello`,
		"hello from web.test:%SECURE"},
	{"curl with HTTP/1.1", `curl -sS --http1.1 --cacert ca.pem https://web.test:%SECURE/hello`,
		"hello from web.test:%SECURE"},
	{"curl to an IPv6 literal", `curl -sS -g --noproxy '' 'http://[::1]:%SIX/hello'`, "hello from [::1]:%SIX"},
	{"node", `export NODE_EXTRA_CA_CERTS=$PWD/ca.pem
node -e 'fetch("https://web.test:%SECURE/hello").then(r => r.text()).then(console.log)'
node -e 'fetch("http://web.test:%PLAIN/hello").then(r => r.text()).then(console.log)'`,
		"hello from web.test:%SECURE\n\nhello from web.test:%PLAIN"},
	{"requests", byRequests, "hello from web.test:%SECURE\n hello from web.test:%PLAIN"},
	{"requests without a proxy", unproxied + byRequests, "hello from web.test:%SECURE\n hello from web.test:%PLAIN"},
	{"httpx", byHTTPX, "hello from web.test:%SECURE\n hello from web.test:%PLAIN"},
	{"httpx without a proxy", unproxied + byHTTPX, "hello from web.test:%SECURE\n hello from web.test:%PLAIN"},
	{"git", committer + `export GIT_SSL_CAINFO=$PWD/ca.pem; git clone -q https://git.test:%SECURE/git/repo.git repo
cd repo; cat file; echo more >> file; git commit -qam two; git push -q; git fetch -q
git log --oneline origin/main | wc -l`, "from git\n2\n"},
	{"git without a proxy", unproxied + `export GIT_SSL_CAINFO=$PWD/ca.pem
git clone -q https://git.test:%SECURE/git/repo.git copy; cat copy/file`, "from git"},
	{"npm", `mkdir np; cd np; echo '{}' > package.json
printf 'registry=https://npm.test:%SECURE/npm/\ncafile=../ca.pem\n' > .npmrc; npm install --no-audit --no-fund small
node -e 'console.log(require("small"))'`, "from npm"},
	{"pip", `/usr/bin/python3 -m pip install -q --disable-pip-version-check --no-cache-dir --cert ca.pem --target wheels \
--index-url https://pip.test:%SECURE/pip/simple/ small; PYTHONPATH=wheels /usr/bin/python3 -c 'import small; print(small.text)'`,
		"from pip"},
	{"go", `export SSL_CERT_FILE=$PWD/ca.pem GOPROXY=https://go.test:%SECURE/go; a=1` + byGo, "// from go"},
	{"go without TLS and a proxy", unproxied + `export GOPROXY=http://go.test:%PLAIN/go; a=2` + byGo, "// from go"},
	{"a WebSocket through the proxy", webSocket + `/usr/bin/python3 ws.py web.test %PLAIN ws proxy
/usr/bin/python3 ws.py web.test %SECURE wss proxy`, "echo from a socket\necho from a socket"},
	{"a WebSocket without a proxy", webSocket + `/usr/bin/python3 ws.py web.test %PLAIN ws no
/usr/bin/python3 ws.py web.test %SECURE wss no`, "echo from a socket\necho from a socket"},
	{"a WebSocket of node", "export NODE_EXTRA_CA_CERTS=$PWD/ca.pem\n" +
		nodeSocket + "ws://web.test:%PLAIN/chat\n" + nodeSocket + "wss://web.test:%SECURE/chat",
		"echo from node\necho from node"},
	{"gRPC", health + `/usr/bin/python3 rpc.py rpc.test:%RPC 1`, `health b'\x08\x01'`},
	{"gRPC without a proxy", health + `/usr/bin/python3 rpc.py rpc.test:%RPC 0`, `health b'\x08\x01'`},
}

const byRequests = `/usr/bin/python3 -c 'import requests
print(requests.get("https://web.test:%SECURE/hello", verify="ca.pem").text, requests.get("http://web.test:%PLAIN/hello").text)'`

const byHTTPX = `/usr/bin/python3 -c 'import httpx
print(httpx.get("https://web.test:%SECURE/hello", verify="ca.pem").text, httpx.get("http://web.test:%PLAIN/hello").text)'`

const byGo = `
export GONOSUMDB='*' GOFLAGS='-mod=mod -modcacherw' GOTOOLCHAIN=local GOPATH=$PWD/gopath$a; mkdir module$a; cd module$a
printf 'module main\nrequire module.test/small v1.0.0\n' > go.mod; go mod download
cat $GOPATH/pkg/mod/module.test/small@v1.0.0/small.go`

// Programs work without being told anything, whether they heed the variables for a proxy or not.
func TestProgramsReachAllowedHosts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.serveGit(nil)
	s.servePackages()
	a := newNetworked(t, s, everything, "")
	for _, c := range reaching {
		t.Run(c.name, func(t *testing.T) {
			if r := a.run(c.script); !r.OK || !strings.Contains(r.Text, a.ports(c.want)) {
				t.Errorf("%s", r.FullText())
			}
		})
	}
}
