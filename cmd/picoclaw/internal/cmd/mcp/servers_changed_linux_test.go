package mcp_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
	"github.com/picoclaw/picoclaw/host/hosttest"
)

// A tool that a server describes in other words than those that were accepted is refused until they are accepted too.
// The server's other tools go on working.
func TestChangedToolIsQuarantined(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	if a := h.RunAttack("list", "/", ""); !a.OK {
		t.Fatal(a.FullText())
	}
	h.SetMaliciousServerBehaviour("changed")
	for range 2 {
		a := h.RunAttack("list", "/", "")
		if a.OK || a.Error.Code != "withdrawn" || !strings.Contains(a.Error.Hint, "picoclaw mcp trust evil") {
			t.Errorf("%s", a.FullText())
		}
	}
	if a := h.CallTool("evil.steady", map[string]any{}); a.Text != "steady" {
		t.Errorf("another tool: %s", a.FullText())
	}
	if a := h.CallTool("evil.added", map[string]any{}); a.OK || a.Text != "" {
		t.Errorf("a tool that nobody has accepted: %s", a.FullText())
	}
	one := h.ListServers()["evil"]
	if one.State != "changed" || !strings.Contains(one.Diff, "Send it all that you know") || !strings.Contains(one.Diff, "added") {
		t.Errorf("%+v", one)
	}
	if out, _, _ := h.Run("mcp", "show", "evil"); !strings.Contains(out, "Send it all that you know") {
		t.Error(out)
	}
}

// What is accepted is what the server says when it is looked at again: it has no state then, and the change of one that
// looks innocent there can't be accepted. One whose program is another can.
func TestTrustBuildsServerAgain(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	program := filepath.Join(h.Home, "server.py")
	script := func(description string) {
		h.WriteFile("server.py", strings.ReplaceAll(smallServer, "DESCRIPTION", description))
	}
	script("Says hello.")
	h.AddServer("small", "--", "python3", program)
	// The package is a copy: what becomes of the original is nothing to it.
	script("Says goodbye.")
	if a := h.CallTool("small.hello", map[string]any{}); a.Text != "hello" {
		t.Errorf("%s", a.FullText())
	}
	if _, said, code := h.Run("mcp", "trust", "small"); code == 0 || !strings.Contains(said, "Says goodbye.") {
		t.Errorf("accepted with nobody there: %s", said)
	}
	if out, _, _ := h.Run("mcp", "show", "small"); !strings.Contains(out, "Says hello.") {
		t.Error(out)
	}
	out, said, code := h.Run("mcp", "trust", "small", "--yes")
	if code != 0 || !strings.Contains(said, "Says goodbye.") {
		t.Errorf("%d: %s%s", code, out, said)
	}
	if a := h.CallTool("small.hello", map[string]any{}); a.Text != "hello" {
		t.Errorf("%s", a.FullText())
	}
	// What does something else in the same words takes its place unasked.
	h.WriteFile("server.py", strings.NewReplacer("DESCRIPTION", "Says goodbye.", `"hello"}]`, `"goodbye"}]`).Replace(smallServer))
	if out, said, code := h.Run("mcp", "update", "small"); code != 0 {
		t.Errorf("%d: %s%s", code, out, said)
	}
	if a := h.CallTool("small.hello", map[string]any{}); a.Text != "goodbye" {
		t.Errorf("%s", a.FullText())
	}
	if one := h.ListServers()["small"]; one.State != "ok" {
		t.Errorf("%+v", one)
	}
}

// smallServer is a server in Python with one tool.
const smallServer = `import json, sys
for line in sys.stdin:
    m = json.loads(line)
    if "id" not in m: continue
    r = {}
    if m["method"] == "initialize":
        r = {"protocolVersion": "2025-06-18", "serverInfo": {"name": "small", "version": "1"}, "capabilities": {"tools": {}}}
    elif m["method"] == "tools/list":
        r = {"tools": [{"name": "hello", "description": "DESCRIPTION", "inputSchema": {"type": "object"}}]}
    elif m["method"] == "tools/call":
        r = {"content": [{"type": "text", "text": "hello"}]}
    print(json.dumps({"jsonrpc": "2.0", "id": m["id"], "result": r}), flush=True)
`

// A server whose tools are accepted works again; what it was seen to offer is forgotten.
func TestTrustedServerWorksAgain(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	h.SetMaliciousServerBehaviour("changed")
	if a := h.RunAttack("list", "/", ""); a.Error.Code != "withdrawn" {
		t.Fatal(a.FullText())
	}
	if err := os.Remove(filepath.Join(h.CreateStateDir("evil"), "behaviour")); err != nil {
		t.Fatal(err)
	}
	out, said, code := h.Run("mcp", "trust", "evil", "--yes")
	if code != 0 {
		t.Fatalf("%s%s", out, said)
	}
	if one := h.ListServers()["evil"]; one.State != "ok" || one.Diff != "" {
		t.Errorf("%+v", one)
	}
	if a := h.RunAttack("list", "/", ""); !a.OK {
		t.Error(a.FullText())
	}
}

// A server that says in the middle of a session that its tools are others is compared at once.
func TestToolChangedDuringSessionIsQuarantined(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	changed := make(chan struct{}, 16)
	c, _, _ := h.ConnectClient(&sdkmcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdkmcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	if names := mcptest.ToolNames(t, c); !slices.Contains(names, "evil_try") || slices.Contains(names, "evil_added") {
		t.Fatal(names)
	}
	if r := mcptest.MustCallTool(t, c, "evil_try", map[string]any{"what": "change"}); r.IsError {
		t.Fatal(mcptest.ResultText(r))
	}
	hosttest.WaitUntil(t, "the tool is withdrawn", func() bool {
		r, err := c.CallTool(t.Context(), &sdkmcp.CallToolParams{Name: "evil_try", Arguments: map[string]any{"what": "list", "at": "/"}})
		if err == nil && r.IsError && !strings.Contains(mcptest.ResultText(r), "is quarantined") {
			t.Error(mcptest.ResultText(r))
		}
		return err != nil || r.IsError
	})
	<-changed
	names := mcptest.ToolNames(t, c)
	if slices.Contains(names, "evil_try") || slices.Contains(names, "evil_added") || !slices.Contains(names, "evil_steady") {
		t.Error(names)
	}
	if r := mcptest.MustCallTool(t, c, "evil_steady", map[string]any{}); mcptest.ResultText(r) != "steady" {
		t.Error(mcptest.ResultText(r))
	}
}

// What the server writes where the plugin notes changes neither keeps the plugin from noticing them nor leads it
// astray.
func TestServerCannotForgeQuarantineFile(t *testing.T) {
	t.Parallel()
	for _, what := range []string{"fifo", "link", "write"} {
		t.Run(what, func(t *testing.T) {
			h := mcptest.NewHome(t)
			h.AddMaliciousServer("", "--workspace", "rw", "--claim", "try.at=none")
			h.WriteFile("workspace/file", "before")
			seen := filepath.Join(h.CreateStateDir("evil"), "seen.json")
			with := map[string]string{"link": filepath.Join(h.Workspace, "file"), "write": strings.Repeat("[", 1<<15)}[what]
			if a := h.RunAttack(what, seen, with); !a.OK {
				t.Fatal(a.FullText())
			}
			h.ListServers() // is not misled by what it is
			h.SetMaliciousServerBehaviour("changed")
			if a := h.RunAttack("list", "/", ""); a.Error.Code != "withdrawn" {
				t.Error(a.FullText())
			}
			if one := h.ListServers()["evil"]; one.State != "changed" || !strings.Contains(one.Diff, "all that you know") {
				t.Errorf("%+v", one)
			}
			if data, err := os.ReadFile(filepath.Join(h.Workspace, "file")); err != nil || string(data) != "before" {
				t.Errorf("the note went to %q, %v", data, err)
			}
		})
	}
}

// A server that removes the plugin's note hides nothing: the host has one of its own. What is accepted is what it says
// with an empty state, and whoever accepts that is told why it may not be enough.
func TestServerCannotHideQuarantine(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	h.SetMaliciousServerBehaviour("changed")
	if a := h.RunAttack("list", "/", ""); a.Error.Code != "withdrawn" {
		t.Fatal(a.FullText())
	}
	if err := os.Remove(filepath.Join(h.CreateStateDir("evil"), "seen.json")); err != nil {
		t.Fatal(err)
	}
	one := h.ListServers()["evil"]
	if one.State != "changed" || !strings.Contains(one.Why, "try (agent main)") || !strings.Contains(one.Why, "can't be shown") {
		t.Errorf("%+v", one)
	}
	out, said, code := h.Run("mcp", "trust", "evil", "--yes")
	for _, want := range []string{"as accepted", "try (agent main)", "mcp remove evil", "--agent", "plugin disable evil --tool"} {
		if code != 0 || !strings.Contains(said, want) {
			t.Errorf("%d: it does not say %q: %s%s", code, want, out, said)
		}
	}
	if !strings.Contains(out, "is unchanged") {
		t.Error(out)
	}
	if one := h.ListServers()["evil"]; one.State != "ok" {
		t.Errorf("%+v", one)
	}
	if a := h.RunAttack("list", "/", ""); a.Error.Code != "withdrawn" {
		t.Errorf("its words were accepted unread: %s", a.FullText())
	}
	if one := h.ListServers()["evil"]; one.State != "changed" || !strings.Contains(one.Diff, "Send it all that you know") {
		t.Errorf("%+v", one)
	}
}

// A server that has a tool no more, or that can't be looked at again, is no way to get at that tool.
func TestRemovedToolIsQuarantined(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddMaliciousServer("")
	h.SetMaliciousServerBehaviour("less")
	if a := h.RunAttack("list", "/", ""); a.Error.Code != "withdrawn" {
		t.Error(a.FullText())
	}
	h.SetMaliciousServerBehaviour("twice")
	if a := h.RunAttack("list", "/", ""); a.OK || !strings.Contains(a.Error.Message, "twice") {
		t.Error(a.FullText())
	}
	h.SetMaliciousServerBehaviour("many")
	if a := h.RunAttack("list", "/", ""); a.OK || !strings.Contains(a.Error.Message, "more than 1024 tools") {
		t.Error(a.FullText())
	}
	h.SetMaliciousServerBehaviour("ends in tools/list")
	if a := h.RunAttack("list", "/", ""); a.OK || a.Error.Code != "unavailable" {
		t.Error(a.FullText())
	}
	h.SetMaliciousServerBehaviour("")
	if a := h.RunAttack("list", "/", ""); !a.OK {
		t.Error(a.FullText())
	}
}
