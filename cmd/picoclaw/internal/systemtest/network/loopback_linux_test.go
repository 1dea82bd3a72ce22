package network_test

import (
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
)

// greeter starts a service on loopback that speaks first, in no protocol that the proxy knows, and returns its port.
func greeter(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go greet(l)
	return portAt(l.Addr())
}

// greet serves connections until the listener is closed.
func greet(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			_, _ = io.WriteString(c, "greetings ")
			_, _ = io.Copy(c, c)
			_ = c.Close()
		}()
	}
}

// talk connects to host and port, sends a line, and prints all of the answer.
const talk = `talk() { /usr/bin/python3 -c 'import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)
try:
    s.sendall(b"\0from inside"); s.shutdown(socket.SHUT_WR)
    while b := s.recv(1000): print(b, flush=True)
except OSError: pass' "$@"; }
`

func TestLoopbackService(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	byName, byAddress, other, denied, notGranted := greeter(t), greeter(t), greeter(t), greeter(t), greeter(t)
	a := newNetworked(t, s, `"deny": ["localhost:`+denied+`"], "allow": ["localhost:`+byName+`", "127.0.0.1/32:`+byAddress+
		`", "127.0.0.0/8:`+denied+`", "web.test:`+other+`", "*"]`, "")
	for name, c := range map[string]struct{ script, want string }{
		"localhost":                   {"talk localhost " + byName, "from inside"},
		"address of localhost":        {"talk 127.0.0.1 " + byName, "from inside"},
		"granted address":             {"talk 127.0.0.1 " + byAddress, "from inside"},
		"name of granted address":     {"talk localhost " + byAddress, "from inside"},
		"port granted for other host": {"talk localhost " + other, "[network: refused localhost:" + other + ", which is allowed on port " + byName + "; setting network.allow]"},
		"standard port":               {"talk 127.0.0.1 80", "[network: refused localhost, as none of its addresses"},
		"denied":                      {"talk 127.0.0.1 " + denied, `[network: refused localhost:` + denied + `, which "localhost:` + denied + `" denies`},
		"other address":               {"talk 127.0.0.9 " + byAddress, "[network: refused 127.0.0.9:" + byAddress},
		"own service on the port of one that is not granted": {`/usr/bin/python3 -c 'import socket, sys
l = socket.create_server(("127.0.0.1", ` + notGranted + `)); print(1, flush=True); c = l.accept()[0]; c.sendall(b"own service"); c.recv(99); c.close()' > own &
until [ -s own ]; do sleep 0.01; done; talk localhost ` + notGranted, "own service"},
	} {
		t.Run(name, func(t *testing.T) {
			r := a.run(talk + c.script)
			if !strings.Contains(r.FullText(), c.want) || strings.Contains(r.Text, "greetings") != (c.want == "from inside") {
				t.Errorf("no %q in: %s", c.want, r.FullText())
			}
		})
	}
	if !a.recorded(networkRecord{"localhost", byName, "allow"}) || !a.recorded(networkRecord{"localhost", other, "deny"}) {
		t.Error("the connections are not in the audit log")
	}
}

// loopbackServer is an MCP server with a tool that talks with a port of this machine.
const loopbackServer = `import json, socket, sys
def talk(port):
    with socket.create_connection(("localhost", int(port)), 20) as s:
        return s.recv(100).decode()
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    r = {}
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "local", "version": "1"}, "capabilities": {"tools": {}}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "talk", "inputSchema": {"type": "object", "properties": {"port": {"type": "string"}}}}]}
    elif m["method"] == "tools/call":
        try: r = {"content": [{"type": "text", "text": talk(m["params"]["arguments"]["port"])}]}
        except Exception as e: r = {"isError": True, "content": [{"type": "text", "text": "localhost:%s: %s" % (m["params"]["arguments"]["port"], e)}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

func TestServerReachesGrantedLoopbackService(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.WriteFile("local.py", loopbackServer)
	port, other := greeter(t), greeter(t)
	h.AddServer("local", "--network", "example.com", "--", "python3", filepath.Join(h.Home, "local.py"))
	talks := func(port string, want bool) {
		t.Helper()
		a := h.CallTool("local.talk", map[string]any{"port": port})
		if a.OK != want || strings.Contains(a.Text, "greetings") != want {
			t.Errorf("%s", a.FullText())
		}
		if hint := "--network localhost:" + port + "`"; !want && !strings.Contains(a.FullText(), hint) {
			t.Errorf("no %s in: %s", hint, a.FullText())
		}
	}
	talks(port, false)
	if out, said, code := h.Run("mcp", "grant", "local", "--network", "localhost:"+port, "--yes"); code != 0 {
		t.Fatal(out, said)
	}
	talks(port, true)
	talks(other, false)
	config := `{"isolation": {"enabled": true}, "network": {"allow": ["127.0.0.1/32:` + port + `"]}}`
	if err := os.WriteFile(filepath.Join(h.Home, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	talks(port, true)
}
