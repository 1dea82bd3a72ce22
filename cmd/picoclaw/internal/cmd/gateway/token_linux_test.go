package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/host/agent/modeltest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// notesServer is an MCP server with two tools, two resources and two prompts.
const notesServer = `import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    r, p = {}, m.get("params", {})
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "notes", "version": "1"},
             "capabilities": {"tools": {}, "resources": {"subscribe": True}, "prompts": {}}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": n, "description": "Looks up a note.", "inputSchema": {"type": "object"}} for n in ("look", "burn")]}
    elif m["method"] == "tools/call":
        r = {"content": [{"type": "text", "text": "note of " + p["name"]}]}
    elif m["method"] == "resources/list":
        r = {"resources": [{"name": n, "uri": "notes://" + n} for n in ("today", "diary")]}
    elif m["method"] == "prompts/list":
        r = {"prompts": [{"name": n, "arguments": [{"name": "who"}]} for n in ("greet", "insult")]}
    elif m["method"] == "resources/read":
        r = {"contents": [{"uri": p["uri"], "text": "contents of " + p["uri"]}]}
    elif m["method"] == "prompts/get":
        r = {"messages": [{"role": "user", "content": {"type": "text", "text": "words of " + p["name"]}}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

// restrictedTools are the tools, resources and prompts of the restricted clients in tests.
const restrictedTools = "read_file,list_dir,subagent,cron,tools_search,notes.look,resource:notes.today,prompt:notes.greet"

// newNotesHome returns a home with a fake model, the server notes, whose tools are deferred, and the files docs/a and secret.
func newNotesHome(t *testing.T, script ...modeltest.ScriptedReply) clitest.Home {
	t.Helper()
	in := clitest.NewHome(t)
	in.UseFakeModel(t, `, "heartbeat": {"enabled": false}, "tools": {"deferred": ["notes.*"], "resources": ["*"], "prompts": ["*"]}`, script...)
	for name, text := range map[string]string{"workspace/docs/a": "inside", "workspace/secret": "hidden text", "notes.py": notesServer} {
		path := filepath.Join(in.Dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out, code := in.Run(t, "mcp", "add", "notes", "--yes", "--", "python3", filepath.Join(in.Dir, "notes.py")); code != 0 {
		t.Fatal(out)
	}
	return in
}

// createToken creates a restricted token, and returns it with its id.
func createToken(t *testing.T, in clitest.Home, args ...string) (token, id string) {
	t.Helper()
	out, code := in.Run(t, append([]string{"gateway", "token"}, args...)...)
	id, _, ok := strings.Cut(out, ".")
	if code != 0 || !ok {
		t.Fatalf("%q: %d %s", args, code, out)
	}
	return strings.TrimSpace(out), id
}

// mcpClient sends requests in a session or, without one, in protocol version 2026-07-28.
type mcpClient struct {
	t          *testing.T
	url, token string
	session    map[string]string // nil for version 2026-07-28
	meta       string            // further members of _meta, each with a comma before it
}

// send sends a request and returns the response's status and text. params are members.
func (c mcpClient) send(method, params string) (int, string) {
	c.t.Helper()
	headers, meta := c.session, `"x":1`
	if headers == nil {
		var name struct{ Name, URI string }
		_ = json.Unmarshal([]byte("{"+params+"}"), &name)
		headers = map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method, "Mcp-Name": name.Name + name.URI}
		meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}`
	}
	if params != "" {
		params += ","
	}
	status, answer, _ := clitest.PostMCP(c.t, c.url, c.token, fmt.Sprintf(
		`{"jsonrpc":"2.0","id":5,"method":%q,"params":{%s"_meta":{%s%s}}}`, method, params, meta, c.meta), headers)
	return status, answer
}

// checkRestrictions checks that a client is restricted to the directory docs and to restrictedTools.
func (c mcpClient) checkRestrictions(home clitest.Home, version string) {
	c.t.Helper()
	call := func(tool, arguments string) string { return fmt.Sprintf(`"name":%q,"arguments":%s`, tool, arguments) }
	for _, check := range []struct{ method, params, want, not string }{
		{"tools/list", "", `"name":"read_file"`, `"name":"exec"`},
		{"tools/list", "", `"name":"tools_search"`, `"name":"write_file"`},
		{"resources/list", "", "notes://today", "notes://diary"},
		{"prompts/list", "", "notes_greet", "notes_insult"},
		{"tools/call", call("tools_search", `{"query":"look up a note"}`), "notes_look", "notes_burn"},
		{"tools/call", call("read_file", `{"path":"a"}`), "inside", ""},
		{"tools/call", call("read_file", `{"path":"../secret"}`), "constraint.paths", "hidden text"},
		{"tools/call", call("read_file", `{"path":"`+home.Workspace+`/secret"}`), "constraint.paths", "hidden text"},
		{"tools/call", call("notes_look", `{}`), "note of look", ""},
		{"tools/call", call("notes_burn", `{}`), "", "note of burn"},
		{"tools/call", call("exec", `{"command":"cat ../secret"}`), "", "hidden text"},
		{"resources/read", `"uri":"notes://today"`, "contents of", ""},
		{"resources/read", `"uri":"notes://diary"`, "", "contents of"},
		{"prompts/get", call("notes_greet", `{"who":"x"}`), "words of greet", ""},
		{"prompts/get", call("notes_insult", `{"who":"x"}`), "", "words of"},
		{"completion/complete", `"ref":{"type":"ref/prompt","name":"notes_insult"},"argument":{"name":"who","value":""}`, "no such prompt", ""},
		{"tools/call", call("cron", `{"action":"add","every_seconds":3600,"command":"echo x","name":"x"}`), "constraint.tools", ""},
		{"tools/call", call("cron", `{"action":"add","every_seconds":3600,"message":"go","name":"job of `+version+`"}`), "job of", ""},
		{"tools/call", call("subagent", `{"task":"try"}`), "Tried.", ""},
	} {
		if _, answer := c.send(check.method, check.params); !strings.Contains(answer, check.want) ||
			check.not != "" && strings.Contains(answer, check.not) {
			c.t.Errorf("%s: %s %s: %s", version, check.method, check.params, answer)
		}
	}
	if out, code := home.Run(c.t, "cron", "show", "job of "+version); code != 0 || !strings.Contains(out, home.Workspace+"/docs") ||
		!strings.Contains(out, "prompt:notes.greet") {
		c.t.Errorf("%s: the job is not restricted: %s", version, out)
	}
}

// subagentScript has a subagent try a tool and a path that it may not use.
var subagentScript = []modeltest.ScriptedReply{clitest.NewToolCallReply("exec", `{"command":"touch `+"planted"+`"}`),
	clitest.NewToolCallReply("read_file", `{"path":"../secret"}`), {Text: "Tried."}}

// checkSubagents checks the results of the subagents' calls.
func checkSubagents(t *testing.T, in clitest.Home) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(in.Workspace, "docs", "planted")); err == nil {
		t.Error("a subagent has run a command")
	}
	if log, _ := in.Run(t, "audit", "search", "--agent", "main"); strings.Contains(log, "hidden text") {
		t.Errorf("a subagent has read a file: %s", log)
	}
}

func TestRestrictedToken(t *testing.T) {
	t.Parallel()
	in := newNotesHome(t, slices.Concat(subagentScript, subagentScript, subagentScript)...)
	token, id := createToken(t, in, "--agent", "main", "--workspace", "docs", "--tools", restrictedTools, "--expires", "8h")
	server, url := in.StartGateway(t)
	url += "/mcp/main"
	check := func(version string) {
		t.Helper()
		c := mcpClient{t: t, url: url, token: token}
		if version != "2026-07-28" {
			c.session = clitest.OpenHTTPSession(t, url, token)
		}
		c.checkRestrictions(in, version)
	}
	check("2025-06-18")
	check("2026-07-28")
	checkSubagents(t, in)

	full := in.GatewayToken(t, "main")
	for _, c := range []struct {
		path, token string
		want        int
	}{{"", token, 200}, {"/docs", token, 200}, {"/docs/sub", token, 404}, {"/", full, 200}, {"", token + "A", 401}, {"", id, 401}, {"", id + ".", 401},
		{"", strings.ToUpper(token), 401}, {"", "other." + token, 401}, {"", "../tokens/" + token, 401}} {
		if status, answer, _ := clitest.PostMCP(t, url+c.path, c.token, clitest.InitializeMessage, nil); status != c.want {
			t.Errorf("%s with %s: %d %s; want %d", c.path, c.token, status, answer, c.want)
		}
	}
	session := clitest.OpenHTTPSession(t, url, full)
	if status, answer := (mcpClient{t: t, url: url, token: token, session: session}).send("tools/list", ""); status == http.StatusOK {
		t.Errorf("a restricted token continues another token's session: %s", answer)
	}
	if out, code := in.Run(t, "gateway", "token", "list", "--output", "json"); code != 0 || !strings.Contains(out, id) ||
		!strings.Contains(out, in.Workspace+"/docs") || strings.Contains(out, strings.Split(token, ".")[1]) || strings.Contains(out, "sha256") {
		t.Errorf("the list: %s", out)
	}
	stored, err := os.ReadFile(filepath.Join(in.Dir, "tokens", id+".json"))
	if err != nil || strings.Contains(string(stored), strings.Split(token, ".")[1]) {
		t.Errorf("the file contains the token: %s, %v", stored, err)
	}

	clitest.StopServer(t, server)
	server, url = in.StartGateway(t)
	url += "/mcp/main"
	session = clitest.OpenHTTPSession(t, url, token)
	calling := make(chan string)
	stream := mcpClient{t: t, url: url, token: token}
	go func() {
		_, answer := stream.send("subscriptions/listen", `"notifications":{"toolsListChanged":true}`)
		calling <- answer
	}()
	hosttest.WaitUntil(t, "the sessions are open", func() bool {
		out, _ := in.Run(t, "gateway", "status")
		return strings.Contains(out, "1 MCP sessions")
	})
	if out, code := in.Run(t, "gateway", "token", "revoke", id); code != 0 {
		t.Fatal(out)
	}
	<-calling
	hosttest.WaitUntil(t, "its session has ended", func() bool {
		out, _ := in.Run(t, "gateway", "status")
		return strings.Contains(out, "0 MCP sessions")
	})
	for _, c := range []mcpClient{stream, {t: t, url: url, token: token, session: session}} {
		if status, answer := c.send("tools/list", ""); status != http.StatusUnauthorized || !strings.Contains(answer, "expired or revoked") {
			t.Errorf("after the end: %d %s", status, answer)
		}
	}
	if out, code := in.Run(t, "gateway", "token", "revoke", id); code != clitest.ExitFailed || !strings.Contains(out, "there is no token") {
		t.Errorf("a second time: %d %s", code, out)
	}
	clitest.StopServer(t, server)
}

func TestRestrictedTokenExpires(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	server, url := in.StartGateway(t)
	url += "/mcp/main"
	token, id := createToken(t, in, "--expires", "1h")
	session := clitest.OpenHTTPSession(t, url, token)
	file := filepath.Join(in.Dir, "tokens", id+".json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var stored map[string]any
	if err := json.Unmarshal(text, &stored); err != nil {
		t.Fatal(err)
	}
	stored["expires"] = time.Now().Add(-time.Second)
	if text, err = json.Marshal(stored); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	c := mcpClient{t: t, url: url, token: token, session: session}
	if status, answer := c.send("tools/list", ""); status != http.StatusUnauthorized || !strings.Contains(answer, "expired or revoked") {
		t.Errorf("an expired token: %d %s", status, answer)
	}
	hosttest.WaitUntil(t, "its session has ended", func() bool {
		out, _ := in.Run(t, "gateway", "status")
		return strings.Contains(out, "0 MCP sessions")
	})
	if out, _ := in.Run(t, "gateway", "token", "list"); !strings.Contains(out, "expired") {
		t.Errorf("the list: %s", out)
	}
	clitest.StopServer(t, server)
}

// A restriction that can't be kept is refused when the token is created, or when its directory leads elsewhere later.
func TestRestrictedTokenFollowsNoLink(t *testing.T) {
	t.Parallel()
	in := clitest.NewHome(t)
	docs, other := filepath.Join(in.Workspace, "docs"), filepath.Join(in.Workspace, "other")
	for _, dir := range []string{docs, other} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, args := range [][]string{{"--workspace", ".."}, {"--workspace", "/etc"}, {"--workspace", "none"}, {"--tools", "[a"}} {
		if out, code := in.Run(t, append([]string{"gateway", "token"}, args...)...); code != clitest.ExitFailed {
			t.Errorf("%q: %d %s", args, code, out)
		}
	}
	token, _ := createToken(t, in, "--workspace", "docs")
	if err := os.Remove(docs); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, docs); err != nil {
		t.Fatal(err)
	}
	server, url := in.StartGateway(t)
	if status, answer, _ := clitest.PostMCP(t, url+"/mcp/main", token, clitest.InitializeMessage, nil); status != http.StatusNotFound ||
		!strings.Contains(answer, "leads elsewhere") {
		t.Errorf("%d %s", status, answer)
	}
	clitest.StopServer(t, server)
}
