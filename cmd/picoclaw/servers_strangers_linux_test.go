package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/inventory"
)

// These tests work with servers that were not written for picoclaw: examples of the official Go SDK, and those of the
// protocol's authors from npm.

// fromNPM are the pinned servers, by the names that they get here, with what follows add's name.
var fromNPM = map[string][]string{
	"everything": {"--", "npx", "-y", "@modelcontextprotocol/server-everything@2026.8.31"},
	"files":      {"--workspace", "rw", "--", "npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "{{workspace}}"},
	"notes":      {"--", "npx", "-y", "@modelcontextprotocol/server-memory@2026.8.31"},
	"think":      {"--", "npx", "-y", "@modelcontextprotocol/server-sequential-thinking@2026.8.31"},
}

// filling fills in each form with the same values, and keeps what was asked.
func filling(asked chan<- string, values map[string]any) *sdkmcp.ClientOptions {
	return &sdkmcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdkmcp.ElicitRequest) (*sdkmcp.ElicitResult, error) {
			asked <- r.Params.Message
			return &sdkmcp.ElicitResult{Action: "accept", Content: values}, nil
		},
	}
}

func TestTheGoSDKsServers(t *testing.T) {
	h := newServerHome(t)
	h.add("greeter", "--", hosttest.Program("servers/everything"))
	h.add("graph", "--", hosttest.Program("servers/memory"), "-memory", "{{state}}/kb.json")
	all := h.list()
	if all["greeter"].Tools["greet_structured"] != "greet (structured)" || all["graph"].State != "ok" {
		t.Errorf("%+v", all)
	}
	out, _, code := h.run("mcp", "show", "greeter", "--output", "json")
	var shown inventory.Server
	if err := json.Unmarshal([]byte(out), &shown); err != nil || code != 0 || len(shown.Tools) != 10 {
		t.Errorf("%v: %s", err, out)
	}
	for _, c := range []struct{ tool, want, structured string }{
		{"greeter.greet", "Hi Ada", ""}, {"greeter.greet_structured", `{"message":"Hi Ada"}`, `{"message":"Hi Ada"}`},
		{"greeter.greet_content_with_resource_link", "greeting (data:text/plain,Hi%20Ada)", ""},
	} {
		if a := h.call(c.tool, map[string]any{"name": "Ada"}); !a.OK || a.Text != c.want || string(a.Structured) != c.structured {
			t.Errorf("%s: %s %s", c.tool, a.all(), a.Structured)
		}
	}
	asked := make(chan string, 4)
	options := filling(asked, map[string]any{"random": "4"})
	logs := make(chan string, 1<<16)
	options.LoggingMessageHandler = func(_ context.Context, r *sdkmcp.LoggingMessageRequest) {
		logs <- asText(r.Params.Data)
	}
	c, _, _ := h.client(options)
	if err := c.SetLoggingLevel(t.Context(), &sdkmcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
		t.Fatal(err)
	}
	// A log that comes just before its call's answer may be overtaken by it, and is no call's then.
	hosttest.Eventually(t, "a log comes", func() bool {
		calling(t, c, "greeter_log", map[string]any{})
		return len(logs) > 0
	})
	if said := received(t, logs); !strings.Contains(said, "something happened!") {
		t.Errorf("%q", said)
	}
	if r := calling(t, c, "greeter_elicit_form", map[string]any{}); r.IsError || text(r) != "4" {
		t.Errorf("%s", text(r))
	}
	if question := received(t, asked); !strings.Contains(question, "greeter") || !strings.Contains(question, "provide a random string") {
		t.Errorf("the question does not say who asks: %q", question)
	}
}

// received is what comes over a channel; that nothing comes is an error, and not the end of the tests' time.
func received[T any](t *testing.T, from <-chan T) (what T) {
	t.Helper()
	select {
	case what = <-from:
	case <-time.After(30 * time.Second):
		t.Error("nothing has come")
	}
	return what
}

func asText(v any) string {
	text, _ := json.Marshal(v)
	return string(text)
}

// A server's memory is its own directory, and the next host's too.
func TestAServerKeepsItsState(t *testing.T) {
	h := newServerHome(t)
	h.add("graph", "--", hosttest.Program("servers/memory"), "-memory", "{{state}}/kb.json")
	remember(t, h, "graph")
}

func remember(t *testing.T, h serverHome, name string) {
	t.Helper()
	entity := map[string]any{"name": "Ada", "entityType": "person", "observations": []string{"likes engines"}}
	if a := h.call(name+".create_entities", map[string]any{"entities": []any{entity}}); !a.OK {
		t.Fatal(a.all())
	}
	if a := h.call(name+".read_graph", map[string]any{}); !strings.Contains(a.Text+string(a.Structured), "likes engines") {
		t.Error(a.all())
	}
}

// All that the protocol's authors' servers do works, each fetched once for all of these.
func TestTheAuthorsServers(t *testing.T) {
	if testing.Short() {
		t.Skip("this fetches packages from npm's registry; make test-long does")
	}
	h := newServerHome(t)
	for name, args := range fromNPM {
		said := h.add(name, args...)
		if !strings.Contains(said, "2026.8.31") {
			t.Errorf("%s: %s", name, said)
		}
	}
	all := h.list()
	for name, tools := range map[string]int{"everything": 14, "files": 14, "notes": 9, "think": 1} {
		if one := all[name]; one.State != "ok" || len(one.Tools) != tools || !strings.HasPrefix(one.Version, "2026.8.31+") ||
			!strings.HasSuffix(one.Package, " 2026.8.31") {
			t.Errorf("%s: %+v", name, one)
		}
	}
	t.Run("everything", h.everything)
	t.Run("files", h.files)
	t.Run("memory", func(t *testing.T) { remember(t, h, "notes") })
	t.Run("sequential thinking", func(t *testing.T) {
		a := h.call("think.sequentialthinking", map[string]any{"thought": "Once", "nextThoughtNeeded": false, "thoughtNumber": 1, "totalThoughts": 1})
		if !a.OK || !strings.Contains(a.Text, `"thoughtHistoryLength": 1`) {
			t.Error(a.all())
		}
	})
	t.Run("a package that is not there", func(t *testing.T) {
		out, said, code := h.run("mcp", "add", "x", "--yes", "--", "npx", "-y", "@modelcontextprotocol/no-such-server-as-this")
		if code != 1 || !strings.Contains(said, "Not Found") && !strings.Contains(said, "404") {
			t.Errorf("%d %s%s", code, out, said)
		}
	})
}

func (h serverHome) everything(t *testing.T) {
	seen := make(chan *sdkmcp.ProgressNotificationParams, 6000) // all: one too many holds up the rest
	asked := make(chan string, 4)
	options := filling(asked, map[string]any{"name": "Ada"})
	options.ProgressNotificationHandler = func(_ context.Context, r *sdkmcp.ProgressNotificationClientRequest) { seen <- r.Params }
	c, _, _ := h.client(options)
	if r := calling(t, c, "everything_get_sum", map[string]any{"a": 2, "b": 3}); text(r) != "The sum of 2 and 3 is 5." {
		t.Error(text(r))
	}
	r := calling(t, c, "everything_get_structured_content", map[string]any{"location": "Chicago"})
	if weather, ok := r.StructuredContent.(map[string]any); !ok || weather["humidity"] == nil {
		t.Errorf("%v", r.StructuredContent)
	}
	r = calling(t, c, "everything_get_tiny_image", map[string]any{})
	if !slices.ContainsFunc(r.Content, func(c sdkmcp.Content) bool {
		image, is := c.(*sdkmcp.ImageContent)
		return is && image.MIMEType == "image/png" && strings.HasPrefix(string(image.Data), "\x89PNG")
	}) {
		t.Errorf("there is no image: %.200s", text(r))
	}
	r = calling(t, c, "everything_get_resource_reference", map[string]any{"resourceType": "Blob", "resourceId": 1})
	if !slices.ContainsFunc(r.Content, func(c sdkmcp.Content) bool {
		embedded, is := c.(*sdkmcp.EmbeddedResource)
		return is && embedded.Resource.URI == "demo://resource/dynamic/blob/1" && len(embedded.Resource.Blob) > 0
	}) {
		t.Errorf("there is no resource: %.200s", text(r))
	}
	// A long call tells how far it is, and can be cancelled; the next one works.
	params := &sdkmcp.CallToolParams{Name: "everything_trigger_long_running_operation", Arguments: map[string]any{"duration": 600, "steps": 6000}}
	params.SetProgressToken("token")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { _, err := c.CallTool(ctx, params); ended <- err }()
	if p := received(t, seen); p == nil || p.Total != 6000 || p.Progress < 1 {
		t.Errorf("%+v", p)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("a cancelled call has succeeded")
	}
	r = calling(t, c, "everything_trigger_elicitation_request", map[string]any{})
	if said := received(t, asked); !strings.Contains(said, "everything") || !strings.Contains(text(r), "Ada") {
		t.Errorf("%q: %s", said, text(r))
	}
	if a := h.call("everything.get_env", map[string]any{}); strings.Contains(a.Text, "PICOCLAW_") {
		t.Error(a.all())
	}
}

func (h serverHome) files(t *testing.T) {
	at := filepath.Join(h.dir, "poem")
	write := func(text string) answer {
		return h.call("files.write_file", map[string]any{"path": at, "content": text})
	}
	if a := write("first"); !a.OK {
		t.Fatal(a.all())
	}
	if a := write("second"); !a.OK {
		t.Fatal(a.all())
	}
	if a := h.call("files.read_text_file", map[string]any{"path": at}); a.Text != "second" {
		t.Error(a.all())
	}
	if out, said, code := h.run("call", "undo"); code != 0 {
		t.Errorf("%s%s", out, said)
	}
	if text, _ := os.ReadFile(at); string(text) != "first" {
		t.Errorf("undone, it is %q", text)
	}
	h.place("outside", "secret")
	out := filepath.Join(h.home, "outside")
	for tool, args := range map[string]map[string]any{
		"read_text_file": {"path": out}, "write_file": {"path": out, "content": "x"}, "move_file": {"source": out, "destination": at},
		"list_directory": {"path": h.home}, "read_multiple_files": {"paths": []string{at, out}},
	} {
		if a := h.call("files."+tool, args); a.OK || a.Error.Rule != "workspace.outside" {
			t.Errorf("%s: %s", tool, a.all())
		}
	}
	// With no guard, and a server that takes the whole disk for its own, the sandbox refuses what is outside.
	claims := []string{"--workspace", "rw"}
	for _, tool := range []string{"read_text_file", "write_file"} {
		claims = append(claims, "--claim", tool+".path=none")
	}
	h.add("unguarded", append(claims, "--", "npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "{{workspace}}", "/")...)
	h.place("workspace/poem", "inside")
	if a := h.call("unguarded.read_text_file", map[string]any{"path": at}); a.Text != "inside" {
		t.Error(a.all())
	}
	if a := h.call("unguarded.read_text_file", map[string]any{"path": out}); a.OK || strings.Contains(a.all(), "secret") || a.Error.Rule != "" {
		t.Error(a.all())
	}
	if a := h.call("unguarded.write_file", map[string]any{"path": out, "content": "x"}); a.OK || a.Error.Rule != "" {
		t.Error(a.all())
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "secret" {
		t.Errorf("%q %v", text, err)
	}
}
