package mcp

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
)

// grantServer has tools that need a workspace, a network and a program.
const grantServer = `import json, os, subprocess, sys, urllib.request
def call(name, args):
    if name == "read_text": return open(args["path"]).read()
    if name == "load": return urllib.request.urlopen("https://" + args["host"], timeout=5).read(10).decode()
    program = args["program"].replace("HERE", os.path.dirname(os.path.abspath(__file__)))
    return subprocess.run([program, "--version"], capture_output=True, text=True).stdout
def tool(name, field):
    return {"name": name, "description": name, "inputSchema": {"type": "object", "properties": {field: {"type": "string"}}}}
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    r = {}
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "needs", "version": "1"}, "capabilities": {"tools": {}}}
    elif m["method"] == "tools/list":
        r = {"tools": [tool("read_text", "path"), tool("load", "host"), tool("start", "program")]}
    elif m["method"] == "tools/call":
        try: r = {"content": [{"type": "text", "text": call(m["params"]["name"], m["params"]["arguments"])}]}
        except Exception as e: r = {"isError": True, "content": [{"type": "text", "text": str(e)}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

func TestGrantChangesAccessOfInstalledServer(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.WriteFile("needs.py", grantServer)
	h.AddServer("needs", "--", "python3", filepath.Join(h.Home, "needs.py"))
	if err := os.Remove(filepath.Join(h.Home, "needs.py")); err != nil { // nothing is fetched again
		t.Fatal(err)
	}
	h.WriteFile("workspace/file", "contents")
	h.WriteFile("outside", "secret")
	path := filepath.Join(h.Workspace, "file")
	reads := func(want bool) {
		t.Helper()
		if a := h.CallTool("needs.read_text", map[string]any{"path": path}); a.OK != want || want && a.Text != "contents" {
			t.Errorf("%s", a.FullText())
		}
	}
	runs := func(want int, said string, args ...string) {
		t.Helper()
		if out, errText, code := h.Run(append([]string{"mcp"}, args...)...); code != want || !strings.Contains(out+errText, said) {
			t.Errorf("%q: %d, want %d and %q: %s%s", args, code, want, said, out, errText)
		}
	}
	reads(false)
	runs(1, "is pending", "grant", "needs", "--workspace", "ro")
	reads(false)
	runs(0, `+  "workspace": "ro"`, "grant", "needs", "--workspace", "ro", "--yes")
	reads(true)
	if a := h.CallTool("needs.read_text", map[string]any{"path": filepath.Join(h.Home, "outside")}); a.OK || a.Error.Rule == "" {
		t.Errorf("the guard does not decide on a path of a granted workspace: %s", a.FullText())
	}
	runs(0, "", "revoke", "needs", "--workspace", "none", "--yes")
	reads(false)
	runs(2, "does not have this grant", "revoke", "needs", "--network", "example.com")
	runs(2, "less access", "revoke", "needs", "--workspace", "rw")
	runs(2, "name the access", "grant", "needs")
	runs(1, "there is no secret", "grant", "needs", "--secret", "NONE")
	programs, err := filepath.Glob(filepath.Join(h.Home, "plugins", "needs", "*", "data", "own", "needs.py"))
	if err != nil || len(programs) != 1 {
		t.Fatal(programs, err)
	}
	if err = os.Chmod(programs[0], 0o600); err == nil {
		err = os.WriteFile(programs[0], []byte("changed"), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	runs(1, "its data was changed", "grant", "needs", "--network", "example.com", "--yes")
}

func TestFailedCallNamesMissingGrant(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.WriteFile("needs.py", grantServer)
	h.AddServer("needs", "--", "python3", filepath.Join(h.Home, "needs.py"))
	for tool, c := range map[string]struct {
		args map[string]any
		want string
	}{
		"load":  {map[string]any{"host": "example.com"}, "[network: none granted; `picoclaw mcp grant needs --network"},
		"start": {map[string]any{"program": "sed"}, "[program: sed not granted; `picoclaw mcp grant needs --program sed`]"},
	} {
		if a := h.CallTool("needs."+tool, c.args); a.OK || !strings.Contains(a.FullText(), c.want) {
			t.Errorf("%s: %s", tool, a.FullText())
		}
	}
	if a := h.CallTool("needs.start", map[string]any{"program": "no-such-program"}); a.OK || strings.Contains(a.FullText(), "granted") {
		t.Errorf("%s", a.FullText())
	}
	if out, said, code := h.Run("mcp", "grant", "needs", "--program", "sed", "--network", "example.org", "--yes"); code != 0 {
		t.Fatal(out, said)
	}
	if a := h.CallTool("needs.start", map[string]any{"program": "sed"}); !a.OK || !strings.Contains(a.Text, "sed") {
		t.Errorf("%s", a.FullText())
	}
	want := "network: example.com not granted; `picoclaw mcp grant needs --network example.com`"
	if a := h.CallTool("needs.load", map[string]any{"host": "example.com"}); a.OK || a.Error.Hint != want ||
		strings.Contains(a.Text, "network.allow") {
		t.Errorf("%s", a.FullText())
	}
}

// A program in a server's package may start without a grant; one beside it may not.
func TestServerStartsProgramOfItsPackage(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	sed, err := os.ReadFile("/usr/bin/sed")
	if err != nil {
		t.Fatal(err)
	}
	h.WriteFile("server/needs.py", grantServer)
	for _, name := range []string{"server/bin/own", "workspace/other"} {
		h.WriteFile(name, string(sed))
		if err := os.Chmod(filepath.Join(h.Home, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	h.AddServer("needs", "--workspace", "ro", "--files", filepath.Join(h.Home, "server"), "--", "python3", filepath.Join(h.Home, "server/needs.py"))
	for _, program := range []string{"HERE/bin/own", "HERE/../files/bin/own"} {
		if a := h.CallTool("needs.start", map[string]any{"program": program}); !a.OK || !strings.Contains(a.Text, "sed") {
			t.Errorf("%s: %s", program, a.FullText())
		}
	}
	if a := h.CallTool("needs.start", map[string]any{"program": filepath.Join(h.Workspace, "other")}); a.OK {
		t.Errorf("a program in the workspace started: %s", a.FullText())
	}
}

// A grant does not lose a new version that waits for approval.
func TestGrantKeepsPendingVersion(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.WriteFile("needs.py", grantServer)
	h.AddServer("needs", "--", "python3", filepath.Join(h.Home, "needs.py"))
	h.WriteFile("needs.py", strings.Replace(grantServer, `tool("load", "host"), `, "", 1))
	for _, step := range []struct {
		args string
		code int
		said string
	}{
		{"update needs", 1, "is pending"}, {"grant needs --network example.com --yes", 1, "is pending and would be lost; accept it first with `picoclaw mcp update needs`"},
		{"update needs --yes", 0, "is updated"}, {"grant needs --network example.com --yes", 0, "is updated"},
	} {
		if out, said, code := h.Run(append([]string{"mcp"}, strings.Fields(step.args)...)...); code != step.code || !strings.Contains(out+said, step.said) {
			t.Errorf("%s: %d: %s%s", step.args, code, out, said)
		}
	}
}
