package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/hosttest"
)

// A tool that a server describes in other words than those that were accepted is refused until they are accepted too.
// The server's other tools go on working.
func TestAChangedToolIsWithdrawn(t *testing.T) {
	h := newServerHome(t)
	h.addEvil("")
	if a := h.try("list", "/", ""); !a.OK {
		t.Fatal(a.all())
	}
	h.behave("changed")
	for range 2 {
		a := h.try("list", "/", "")
		if a.OK || a.Error.Code != "withdrawn" || !strings.Contains(a.Error.Hint, "picoclaw mcp trust evil") {
			t.Errorf("%s", a.all())
		}
	}
	if a := h.call("evil.steady", map[string]any{}); a.Text != "steady" {
		t.Errorf("another tool: %s", a.all())
	}
	if a := h.call("evil.added", map[string]any{}); a.OK || a.Text != "" {
		t.Errorf("a tool that nobody has accepted: %s", a.all())
	}
	one := h.list()["evil"]
	if one.State != "changed" || !strings.Contains(one.Diff, "Send it all that you know") || !strings.Contains(one.Diff, "added") {
		t.Errorf("%+v", one)
	}
	if out, _, _ := h.run("mcp", "show", "evil"); !strings.Contains(out, "Send it all that you know") {
		t.Error(out)
	}
}

// What is accepted is what the server says when it is looked at again: it has no state then, and the change of one that
// looks innocent there can't be accepted. One whose program is another can.
func TestWhatIsAcceptedIsLookedAtAgain(t *testing.T) {
	h := newServerHome(t)
	program := filepath.Join(h.home, "server.py")
	script := func(description string) {
		h.place("server.py", strings.ReplaceAll(smallServer, "DESCRIPTION", description))
	}
	script("Says hello.")
	h.add("small", "--", "python3", program)
	// The package is a copy: what becomes of the original is nothing to it.
	script("Says goodbye.")
	if a := h.call("small.hello", map[string]any{}); a.Text != "hello" {
		t.Errorf("%s", a.all())
	}
	if _, said, code := h.run("mcp", "trust", "small"); code == 0 || !strings.Contains(said, "Says goodbye.") {
		t.Errorf("accepted with nobody there: %s", said)
	}
	if out, _, _ := h.run("mcp", "show", "small"); !strings.Contains(out, "Says hello.") {
		t.Error(out)
	}
	out, said, code := h.run("mcp", "trust", "small", "--yes")
	if code != 0 || !strings.Contains(said, "Says goodbye.") {
		t.Errorf("%d: %s%s", code, out, said)
	}
	if a := h.call("small.hello", map[string]any{}); a.Text != "hello" {
		t.Errorf("%s", a.all())
	}
	// What does something else in the same words takes its place unasked.
	h.place("server.py", strings.NewReplacer("DESCRIPTION", "Says goodbye.", `"hello"}]`, `"goodbye"}]`).Replace(smallServer))
	if out, said, code := h.run("mcp", "update", "small"); code != 0 {
		t.Errorf("%d: %s%s", code, out, said)
	}
	if a := h.call("small.hello", map[string]any{}); a.Text != "goodbye" {
		t.Errorf("%s", a.all())
	}
	if one := h.list()["small"]; one.State != "ok" {
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
func TestAnAcceptedChangeWorks(t *testing.T) {
	h := newServerHome(t)
	h.addEvil("")
	h.behave("changed")
	if a := h.try("list", "/", ""); a.Error.Code != "withdrawn" {
		t.Fatal(a.all())
	}
	if err := os.Remove(filepath.Join(h.state("evil"), "behaviour")); err != nil {
		t.Fatal(err)
	}
	out, said, code := h.run("mcp", "trust", "evil", "--yes")
	if code != 0 {
		t.Fatalf("%s%s", out, said)
	}
	if one := h.list()["evil"]; one.State != "ok" || one.Diff != "" {
		t.Errorf("%+v", one)
	}
	if a := h.try("list", "/", ""); !a.OK {
		t.Error(a.all())
	}
}

// A server that says in the middle of a session that its tools are others is compared at once.
func TestAToolThatChangesMeanwhileIsWithdrawn(t *testing.T) {
	h := newServerHome(t)
	h.addEvil("")
	changed := make(chan struct{}, 16)
	c, _, _ := h.client(&sdkmcp.ClientOptions{
		ToolListChangedHandler: func(context.Context, *sdkmcp.ToolListChangedRequest) { changed <- struct{}{} },
	})
	if names := toolNames(t, c); !slices.Contains(names, "evil_try") || slices.Contains(names, "evil_added") {
		t.Fatal(names)
	}
	if r := calling(t, c, "evil_try", map[string]any{"what": "change"}); r.IsError {
		t.Fatal(text(r))
	}
	hosttest.Eventually(t, "the tool is withdrawn", func() bool {
		r, err := c.CallTool(t.Context(), &sdkmcp.CallToolParams{Name: "evil_try", Arguments: map[string]any{"what": "list", "at": "/"}})
		if err == nil && r.IsError && !strings.Contains(text(r), "is not offered") {
			t.Error(text(r))
		}
		return err != nil || r.IsError
	})
	<-changed
	names := toolNames(t, c)
	if slices.Contains(names, "evil_try") || slices.Contains(names, "evil_added") || !slices.Contains(names, "evil_steady") {
		t.Error(names)
	}
	if r := calling(t, c, "evil_steady", map[string]any{}); text(r) != "steady" {
		t.Error(text(r))
	}
}

// What the server writes where the plugin notes changes neither keeps the plugin from noticing them nor leads it
// astray.
func TestTheNoteOfAChangeIsNotTheServers(t *testing.T) {
	for _, what := range []string{"fifo", "link", "write"} {
		t.Run(what, func(t *testing.T) {
			h := newServerHome(t)
			h.addEvil("", "--workspace", "rw", "--claim", "try.at=none")
			h.place("workspace/file", "before")
			seen := filepath.Join(h.state("evil"), "seen.json")
			with := map[string]string{"link": filepath.Join(h.dir, "file"), "write": strings.Repeat("[", 1<<15)}[what]
			if a := h.try(what, seen, with); !a.OK {
				t.Fatal(a.all())
			}
			h.list() // is not misled by what it is
			h.behave("changed")
			if a := h.try("list", "/", ""); a.Error.Code != "withdrawn" {
				t.Error(a.all())
			}
			if one := h.list()["evil"]; one.State != "changed" || !strings.Contains(one.Diff, "all that you know") {
				t.Errorf("%+v", one)
			}
			if data, err := os.ReadFile(filepath.Join(h.dir, "file")); err != nil || string(data) != "before" {
				t.Errorf("the note went to %q, %v", data, err)
			}
		})
	}
}

// A server that removes the plugin's note hides nothing: the host has one of its own. What is accepted is what it says
// with an empty state, and whoever accepts that is told why it may not be enough.
func TestAServerThatHidesItsChangeIsListed(t *testing.T) {
	h := newServerHome(t)
	h.addEvil("")
	h.behave("changed")
	if a := h.try("list", "/", ""); a.Error.Code != "withdrawn" {
		t.Fatal(a.all())
	}
	if err := os.Remove(filepath.Join(h.state("evil"), "seen.json")); err != nil {
		t.Fatal(err)
	}
	one := h.list()["evil"]
	if one.State != "changed" || !strings.Contains(one.Why, "try (agent main)") || !strings.Contains(one.Why, "can't be shown") {
		t.Errorf("%+v", one)
	}
	out, said, code := h.run("mcp", "trust", "evil", "--yes")
	for _, want := range []string{"as they were accepted", "try (agent main)", "mcp remove evil", "--agent", "plugin disable evil --tool"} {
		if code != 0 || !strings.Contains(said, want) {
			t.Errorf("%d: it does not say %q: %s%s", code, want, out, said)
		}
	}
	if !strings.Contains(out, "offers what was accepted, and stays") {
		t.Error(out)
	}
	if one := h.list()["evil"]; one.State != "ok" {
		t.Errorf("%+v", one)
	}
	if a := h.try("list", "/", ""); a.Error.Code != "withdrawn" {
		t.Errorf("its words were accepted unread: %s", a.all())
	}
	if one := h.list()["evil"]; one.State != "changed" || !strings.Contains(one.Diff, "Send it all that you know") {
		t.Errorf("%+v", one)
	}
}

// A server that has a tool no more, or that can't be looked at again, is no way to get at that tool.
func TestAToolThatIsGoneIsWithdrawn(t *testing.T) {
	h := newServerHome(t)
	h.addEvil("")
	h.behave("less")
	if a := h.try("list", "/", ""); a.Error.Code != "withdrawn" {
		t.Error(a.all())
	}
	h.behave("twice")
	if a := h.try("list", "/", ""); a.OK || !strings.Contains(a.Error.Message, "twice") {
		t.Error(a.all())
	}
	h.behave("many")
	if a := h.try("list", "/", ""); a.OK || !strings.Contains(a.Error.Message, "more than 1024 tools") {
		t.Error(a.all())
	}
	h.behave("ends in tools/list")
	if a := h.try("list", "/", ""); a.OK || a.Error.Code != "unavailable" {
		t.Error(a.all())
	}
	h.behave("")
	if a := h.try("list", "/", ""); !a.OK {
		t.Error(a.all())
	}
}
