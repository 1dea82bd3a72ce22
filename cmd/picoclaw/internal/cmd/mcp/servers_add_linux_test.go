package mcp_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest"
	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// What means to steer a model, and what nobody can see, is told before a server is added.
func TestReviewWarnsAboutSuspiciousText(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	said := h.AddMaliciousServer("hidden")
	for _, want := range []string{
		"tool d0 has invisible characters (U+200B)", "tool d0's arguments has invisible characters (U+200B)",
		"tool d1 has invisible characters (U+202E)", "tool d2 has invisible characters (U+E00",
		"tool d3 has invisible characters (U+00AD)", "tool d4 has invisible characters (U+FE0F)",
		`tool d5 instructs the model: "<IMPORTANT>"`, `tool d5's arguments instructs the model`,
		`tool d6 instructs the model: "Do not tell"`, `tool d7 instructs the model: "do not tell"`,
		"tool d8 has invisible characters (U+001B)",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("not told: %s\n%s", want, said)
		}
	}
	if strings.ContainsAny(said, "\x1b\u202e") {
		t.Errorf("what changes how others are seen gets to the terminal: %q", said)
	}
	if said := mcptest.NewHome(t).AddMaliciousServer("instructs"); !strings.Contains(said, "its instructions instructs the model") {
		t.Error(said)
	}
	if said := mcptest.NewHome(t).AddMaliciousServer(""); strings.Contains(said, "beware") {
		t.Errorf("nothing is suspicious: %s", said)
	}
}

// Whatever a server calls its tools, they have names here that clients take, and each leads to its own tool.
func TestToolsHaveNamesThatClientsTake(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	said := h.AddMaliciousServer("names")
	one := h.ListServers()["evil"]
	theirs := map[string]bool{}
	for name, their := range one.Tools {
		theirs[their] = true
		if len("evil_"+name) > 64 || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
			t.Errorf("%q is called %q", their, name)
		}
	}
	for _, their := range []string{"With Spaces", "lower", "LOWER", "Lower", "日本語", "🦀", "9lives", "a/b", "a.b", "a b",
		"printEnv", "print_env", "exec", strings.Repeat("long", 30), strings.Repeat("long", 30) + "er"} {
		if !theirs[their] {
			t.Errorf("%q is not offered: %v\n%s", their, one.Tools, said)
		}
	}
	c, _, _ := h.ConnectClient(nil)
	names := mcptest.ToolNames(t, c)
	if n := len(slices.Compact(names)); n != len(mcptest.ToolNames(t, c)) {
		t.Errorf("%d names: %v", n, names)
	}
	for name := range one.Tools {
		if !slices.Contains(names, "evil_"+name) {
			t.Errorf("%s is not offered: %v", name, names)
		}
	}
	if a := h.CallTool("exec", map[string]any{"command": "echo ours"}); a.Text != "ours\n" {
		t.Errorf("the server has taken the place of a tool: %s", a.FullText())
	}
}

// How arguments are guarded is not the server's to say.
func TestServerCannotSetClaims(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	said := h.AddMaliciousServer("claims", "--workspace", "ro")
	if strings.Contains(said, "is guarded as") {
		t.Error(said)
	}
	if a := h.RunAttack("environments", "/etc/passwd", "rm -rf /"); !a.OK {
		t.Errorf("a claim of the server's holds: %s", a.FullText())
	}
	files, err := filepath.Glob(filepath.Join(h.Home, "plugins", "*", "*", "plugin.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	if text, err := os.ReadFile(files[0]); err != nil || strings.Contains(string(text), "x-picoclaw-claim") {
		t.Errorf("%v: %s", err, text)
	}
	// The operator's are.
	guarded := mcptest.NewHome(t)
	if said := guarded.AddMaliciousServer("claims", "--workspace", "ro", "--claim", "try.at=read"); !strings.Contains(said, "at is guarded as: read") {
		t.Error(said)
	}
	for at, rule := range map[string]string{
		"/etc/passwd": "workspace.outside", "File:///etc/%70asswd": "workspace.outside", "file://etc/passwd": "path.malformed",
		"file://" + guarded.Workspace + "/file": "",
	} {
		if a := guarded.RunAttack("read", at, ""); a.Error.Rule != rule {
			t.Errorf("%s: %s", at, a.FullText())
		}
	}
}

// Schemas that can be understood are offered, of whichever draft; the others are left out, with a reason.
func TestSampleArgumentsOfAllSchemas(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	said := h.AddMaliciousServer("schemas")
	tools := h.ListServers()["evil"].Tools
	for _, name := range []string{"draft7", "any", "nothing"} {
		if tools[name] == "" {
			t.Errorf("%s is not offered: %s", name, said)
		}
	}
	for _, name := range []string{"elsewhere", "wrong"} {
		if tools[name] != "" || !strings.Contains(said, name+": ") {
			t.Errorf("%s is offered: %s", name, said)
		}
	}
	for tool, args := range map[string]map[string]any{"draft7": {"at": "text"}, "any": {"at": 7}, "nothing": {}} {
		if a := h.CallTool("evil."+tool, args); a.Text != "steady" {
			t.Errorf("%s: %s", tool, a.FullText())
		}
	}
	if a := h.CallTool("evil.draft7", map[string]any{"at": 7}); a.OK || a.Error.Code != "invalid_argument" {
		t.Errorf("%s", a.FullText())
	}
}

// A server with too many tools, or with one twice, is not added; nor is one that ends.
func TestAddRefusesInvalidServers(t *testing.T) {
	t.Parallel()
	for how, why := range map[string]string{"many": "more than 1024 tools", "twice": `the tool "try" twice`,
		"ends in tools/list": "did not start"} {
		h := mcptest.NewHome(t)
		out, said, code := h.Run("mcp", "add", "evil", "--yes", "--", hosttest.ProgramPath("servers/malicious"), "{{state}}", how)
		if code != 1 || !strings.Contains(said, why) {
			t.Errorf("%s: %d %s%s", how, code, out, said)
		}
		if all := h.ListServers(); len(all) > 0 {
			t.Errorf("%s: %v", how, all)
		}
	}
}

// Whoever asks for what can't be is told what is wrong, and nothing is added.
func TestAddExplainsRefusals(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	good := hosttest.ProgramPath("servers/memory")
	h.AddServer("taken", "--", good)
	for _, c := range []struct {
		code int
		why  string
		args []string
	}{
		{1, "there is no program nosuchprogram; install it, or give its path", []string{"x", "--", "nosuchprogram"}},
		{1, "docker starts containers, which a sandbox can't confine", []string{"x", "--", "docker", "run", "x"}},
		{1, "use npx PACKAGE", []string{"x", "--", "bunx", "x"}},
		{1, "npx names no package", []string{"x", "--", "npx", "-y"}},
		{1, "npx --node-arg is not supported", []string{"x", "--", "npx", "--node-arg", "x"}},
		{1, "is not a package of npm's registry", []string{"x", "--", "npx", "git+https://example.com/x"}},
		{1, "is not a package of Python's index", []string{"x", "--", "uvx", "./x"}},
		{1, "there is no jruby on this machine", []string{"x", "--", "jruby"}},
		{1, "plugin taken already exists", []string{"taken", "--", good}},
		{1, "plugin takeback can't keep state", []string{"takeback", "--", good}},
		{1, "plugin filesystem is built in", []string{"filesystem", "--", good}},
		{1, "there is no secret \"NOPE\"", []string{"x", "--secret", "NOPE", "--", good}},
		{1, "the server has no such tool, or no such string field", []string{"x", "--claim", "read_graph.x=read", "--", good}},
		{1, "did not start", []string{"x", "--", "/bin/true"}},
		{2, "want TOOL.FIELD", []string{"x", "--claim", "field=read", "--", good}},
		{2, "want read, write, list, delete", []string{"x", "--claim", "a.b=eat", "--", good}},
		{2, `there is no agent "nobody"`, []string{"x", "--agent", "nobody", "--", good}},
		{2, "want none, ro or rw", []string{"x", "--workspace", "all", "--", good}},
		{2, "neither a command nor a URL", []string{"x"}},
		{2, "both a command and a URL", []string{"x", "--url", "https://example.com", "--", good}},
		{2, `plugin id "UP"`, []string{"UP", "--", good}},
		{2, "want NAME=VALUE", []string{"x", "--env", "NAME", "--", good}},
		{2, "name the server in front of --", []string{"--", good}},
		{1, "can't connect to 127.0.0.1:1", []string{"x", "--url", "http://127.0.0.1:1/mcp"}},
		{1, "whether this machine reaches it: curl -i http", []string{"x", "--url", "http://127.0.0.1:1/mcp"}},
		{1, "the server x did not start", []string{"x", "--", "/bin/true"}},
	} {
		out, said, code := h.Run(append([]string{"mcp", "add", "--yes"}, c.args...)...)
		if code != c.code || !strings.Contains(said, c.why) {
			if c.why == "there is no jruby on this machine" {
				c.why = "there is no program jruby"
				if code == c.code && strings.Contains(said, c.why) {
					continue
				}
			}
			t.Errorf("%v: %d %s%s", c.args, code, out, said)
		}
	}
	if all := h.ListServers(); len(all) != 1 || all["taken"].State != "ok" {
		t.Errorf("%v", all)
	}
}

// One that stands in the configuration is shown as it is listed, before somebody has looked at it and after it has
// changed, and looking at it says nothing of others that wait. Without servers the list says how there come to be some.
func TestShowAndListAgree(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	if out, _, code := h.Run("mcp", "list"); code != 0 || !strings.Contains(out, "no MCP servers") {
		t.Errorf("%d: %s", code, out)
	}
	declare := func(value string) {
		text, err := json.Marshal(map[string]any{"tools": map[string]any{"mcp": map[string]any{"servers": map[string]any{
			"graph": map[string]any{"command": hosttest.ProgramPath("servers/memory"), "env": map[string]string{"A": value}},
			"other": map[string]any{"command": "other"},
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		h.WriteFile("config.json", string(text))
	}
	shown := func(state string) {
		t.Helper()
		out, said, code := h.Run("mcp", "show", "graph")
		if one := h.ListServers()["graph"]; code != 0 || one.State != state || !strings.Contains(out, "("+state+")") {
			t.Errorf("%s: listed as %+v, shown as %d: %s%s", state, one, code, out, said)
		}
	}
	declare("1")
	shown("untrusted")
	if out, said, code := h.Run("mcp", "trust", "graph", "--yes"); code != 0 || strings.Contains(said, "nobody has looked") {
		t.Errorf("%d: %s%s", code, out, said)
	}
	shown("ok")
	declare("2")
	shown("changed")
	// What is different is shown, and nobody there to ask is no yes.
	out, said, code := h.Run("mcp", "trust", "graph")
	if code == 0 || !strings.Contains(said, `-    "A": "1"`) || !strings.Contains(said, `+    "A": "2"`) {
		t.Errorf("%d: %s%s", code, out, said)
	}
	if a := h.CallTool("graph.read_graph", map[string]any{}); a.OK {
		t.Errorf("it runs with what nobody has accepted: %s", a.FullText())
	}
	if out, said, code := h.Run("mcp", "trust", "graph"); code == 0 || !strings.Contains(said, `+    "A": "2"`) {
		t.Errorf("what waits is accepted with nobody there: %d: %s%s", code, out, said)
	}
	if one := h.ListServers()["graph"]; !strings.Contains(one.Diff, `+    "A": "2"`) {
		t.Errorf("%+v", one)
	}
	if out, said, code := h.Run("mcp", "trust", "graph", "--yes"); code != 0 || !strings.Contains(said, `+    "A": "2"`) {
		t.Errorf("%d: %s%s", code, out, said)
	}
	shown("ok")
	if a := h.CallTool("graph.read_graph", map[string]any{}); !a.OK {
		t.Error(a.FullText())
	}
}

// Only a sandbox keeps a server to the one host that it is at.
func TestRemoteServerRequiresSandbox(t *testing.T) {
	t.Parallel()
	h := mcptest.Home{Agent: clitest.NewAgent(t, false)}
	for _, args := range [][]string{{"--url", "https://example.com/mcp"}, {"--network", "example.com", "--", hosttest.ProgramPath("servers/memory")}} {
		out, said, code := h.Run(append([]string{"mcp", "add", "x", "--yes"}, args...)...)
		if code != 1 || !strings.Contains(said, "set isolation.enabled to true, or grant all hosts with --network '*'") {
			t.Errorf("%d: %s%s", code, out, said)
		}
	}
	if all := h.ListServers(); len(all) > 0 {
		t.Errorf("%v", all)
	}
}

// Files of one name are told from one another, and each is the one that was named.
func TestFilesOfOneNameAreCopiedApart(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.WriteFile("a/file.py", "import sys; exec(open(sys.argv[1]).read())\n")
	h.WriteFile("b/file.py", strings.ReplaceAll(smallServer, "DESCRIPTION", "Says hello."))
	h.AddServer("small", "--", "python3", filepath.Join(h.Home, "a/file.py"), filepath.Join(h.Home, "b/file.py"))
	if err := os.RemoveAll(filepath.Join(h.Home, "b")); err != nil {
		t.Fatal(err)
	}
	if a := h.CallTool("small.hello", map[string]any{}); a.Text != "hello" {
		t.Error(a.FullText())
	}
	// So are those of a directory that is copied as a whole.
	h.WriteFile("all/file.py", "import sys; exec(open(sys.argv[1]).read())\n")
	h.WriteFile("all/b/file.py", strings.ReplaceAll(smallServer, "DESCRIPTION", "Says hello."))
	h.AddServer("other", "--files", filepath.Join(h.Home, "all"), "--", "python3", filepath.Join(h.Home, "all/file.py"),
		filepath.Join(h.Home, "all/b/file.py"))
	if a := h.CallTool("other.hello", map[string]any{}); a.Text != "hello" {
		t.Error(a.FullText())
	}
}

// A server goes with what it has kept, which another one of its name would find, unless the operator wants it to stay.
func TestRemoveDeletesServerState(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	add := func() string {
		return h.AddServer("graph", "--", hosttest.ProgramPath("servers/memory"), "-memory", "{{state}}/kb.json")
	}
	remember := func() {
		t.Helper()
		a := h.CallTool("graph.create_entities", map[string]any{"entities": []any{map[string]any{"name": "Ada", "entityType": "person",
			"observations": []string{"is kept"}}}})
		if !a.OK {
			t.Fatal(a.FullText())
		}
	}
	add()
	if out, said, code := h.Run("mcp", "remove", "graph"); code != 0 || strings.Contains(out, "state") {
		t.Errorf("nothing is kept: %d: %s%s", code, out, said)
	}
	add()
	remember()
	state := filepath.Join(h.Home, "state", "graph")
	if out, said, code := h.Run("mcp", "remove", "graph"); code != 1 || !strings.Contains(said, "--keep") {
		t.Errorf("it is removed with nobody there to ask: %d: %s%s", code, out, said)
	}
	if out, said, code := h.Run("mcp", "remove", "graph", "--keep"); code != 0 || !strings.Contains(out, "is in "+state) {
		t.Errorf("%d: %s%s", code, out, said)
	}
	if said := add(); !strings.Contains(said, "it gets the state of an earlier server with this name, in "+state) {
		t.Error(said)
	}
	if a := h.CallTool("graph.read_graph", map[string]any{}); !strings.Contains(string(a.Structured), "Ada") {
		t.Error(a.FullText())
	}
	if out, said, code := h.Run("mcp", "remove", "graph", "--yes"); code != 0 || !strings.Contains(out, "and its state in "+state) {
		t.Errorf("%d: %s%s", code, out, said)
	}
	if left, err := filepath.Glob(filepath.Join(h.Home, "runtime-user-env", "*-graph")); err != nil || len(left) > 0 {
		t.Errorf("%v, %v", left, err)
	}
	if said := add(); strings.Contains(said, "another server") {
		t.Error(said)
	}
	if a := h.CallTool("graph.read_graph", map[string]any{}); !a.OK || strings.Contains(string(a.Structured), "Ada") {
		t.Error(a.FullText())
	}
}

// A server that is for one agent is no other's.
func TestServerIsLimitedToAgents(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.WriteFile("config.json", `{"agents": {"list": [{"id": "main"}, {"id": "other"}]}}`)
	h.AddServer("graph", "--agent", "other", "--", hosttest.ProgramPath("servers/memory"), "-memory", "{{state}}/kb.json")
	if one := h.ListServers()["graph"]; !slices.Equal(one.Agents, []string{"other"}) {
		t.Errorf("%+v", one)
	}
	if a := h.CallTool("graph.read_graph", map[string]any{}, "--agent", "other"); !a.OK {
		t.Error(a.FullText())
	}
	if a := h.CallTool("graph.read_graph", map[string]any{}, "--agent", "main"); a.OK {
		t.Error(a.FullText())
	}
	for agent, sees := range map[string]bool{"main": false, "other": true} {
		out, said, _ := h.Run("tools", "--agent", agent, "--output", "json")
		if strings.Contains(out, "graph.read_graph") != sees {
			t.Errorf("%s: %s%s", agent, out, said)
		}
	}
}

// The settings of other clients are read: what is there already stays, what can't be added is told.
func TestSettingsOfClientsAreImported(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	program := hosttest.ProgramPath("servers/memory")
	settings, err := json.Marshal(map[string]any{"mcpServers": map[string]any{
		"Knowledge Graph": map[string]any{"command": program, "args": []string{"-memory", "{{state}}/kb.json"},
			"env": map[string]string{"A": "b"}},
		"docker-thing": map[string]any{"command": "docker", "args": []string{"run", "-i", "--rm", "mcp/x"}}}})
	if err != nil {
		t.Fatal(err)
	}
	h.WriteFile("claude_desktop_config.json", string(settings))
	out, said, code := h.Run("mcp", "import", filepath.Join(h.Home, "claude_desktop_config.json"), "--yes")
	if code != 1 || !strings.Contains(said, "docker starts containers") || !strings.Contains(said, "1 of 2 servers were not added") {
		t.Errorf("%d: %s%s", code, out, said)
	}
	if a := h.CallTool("knowledge_graph.read_graph", map[string]any{}); !a.OK {
		t.Error(a.FullText())
	}
	h.WriteFile("mcp.json", `{
		// what VS Code writes
		"inputs": [],
		"servers": {
			"knowledge-graph": {"type": "stdio", "command": "nothing"},
			"greeter": {"type": "stdio", "command": "`+hosttest.ProgramPath("servers/everything")+`", "args": []},
		},
	}`)
	out, said, code = h.Run("mcp", "import", filepath.Join(h.Home, "mcp.json"), "--yes", "--workspace", "ro")
	if code != 0 || !strings.Contains(said, "knowledge_graph already exists") {
		t.Errorf("%d: %s%s", code, out, said)
	}
	// One that can't be had does not keep the others out.
	h.WriteFile("more.json", `{"servers": {
		"a": {"command": "`+program+`", "env": {"KEY": "${env:KEY}"}}, "off": {"command": "nothing", "disabled": true},
		"more": {"command": "`+program+`", "env": {"GITHUB_TOKEN": "a real one"}}}}`)
	out, said, code = h.Run("mcp", "import", filepath.Join(h.Home, "more.json"), "--yes")
	if code != 1 || !strings.Contains(said, "a was not added: the client's variable ${env:KEY}") ||
		!strings.Contains(said, "1 of 2 servers were not added") || !strings.Contains(said, "--secret GITHUB_TOKEN") {
		t.Errorf("%d: %s%s", code, out, said)
	}
	if out, said, code := h.Run("mcp", "remove", "more"); code != 0 {
		t.Errorf("%d: %s%s", code, out, said)
	}
	all := h.ListServers()
	if len(all) != 2 || all["greeter"].Granted.Workspace != "ro" || all["knowledge_graph"].Granted.Workspace != "none" {
		t.Errorf("%+v", all)
	}
	for text, why := range map[string]string{"{": "unexpected", `{"mcpServers": {}}`: "it has no enabled servers", `[]`: "cannot unmarshal",
		`{"servers": {"a b": {"command": "x"}, "A_B": {"command": "y"}}}`: "two servers would be called a_b"} {
		h.WriteFile("bad.json", text)
		if out, said, code := h.Run("mcp", "import", filepath.Join(h.Home, "bad.json"), "--yes"); code != 2 || !strings.Contains(said, why) {
			t.Errorf("%s: %d %s%s", text, code, out, said)
		}
	}
}
