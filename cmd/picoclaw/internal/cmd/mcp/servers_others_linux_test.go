package mcp_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	sdkmcp "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/cmd/internal/clitest/mcptest"
	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/inventory"
)

// filling fills in each form with the same values, and keeps what was asked.
func filling(asked chan<- string, values map[string]any) *sdkmcp.ClientOptions {
	return &sdkmcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, r *sdkmcp.ElicitRequest) (*sdkmcp.ElicitResult, error) {
			asked <- r.Params.Message
			return &sdkmcp.ElicitResult{Action: "accept", Content: values}, nil
		},
	}
}

func TestGoSDKServers(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddServer("greeter", "--", hosttest.ProgramPath("servers/everything"))
	h.AddServer("graph", "--", hosttest.ProgramPath("servers/memory"), "-memory", "{{state}}/kb.json")
	all := h.ListServers()
	if all["greeter"].Tools["greet_structured"] != "greet (structured)" || all["graph"].State != "ok" {
		t.Errorf("%+v", all)
	}
	out, _, code := h.Run("mcp", "show", "greeter", "--output", "json")
	var shown inventory.ServerInfo
	if err := json.Unmarshal([]byte(out), &shown); err != nil || code != 0 || len(shown.Tools) != 14 { // ten tools, two prompts, two resources
		t.Errorf("%v: %s", err, out)
	}
	for _, c := range []struct{ tool, want, structured string }{
		{"greeter.greet", "Hi Ada", ""}, {"greeter.greet_structured", `{"message":"Hi Ada"}`, `{"message":"Hi Ada"}`},
		{"greeter.greet_content_with_resource_link", "greeting (data:text/plain,Hi%20Ada)", ""},
	} {
		if a := h.CallTool(c.tool, map[string]any{"name": "Ada"}); !a.OK || a.Text != c.want || string(a.Structured) != c.structured {
			t.Errorf("%s: %s %s", c.tool, a.FullText(), a.Structured)
		}
	}
	asked := make(chan string, 4)
	options := filling(asked, map[string]any{"random": "4"})
	logs := make(chan string, 1<<16)
	options.LoggingMessageHandler = func(_ context.Context, r *sdkmcp.LoggingMessageRequest) {
		logs <- asText(r.Params.Data)
	}
	c, _, _ := h.ConnectClient(options)
	if err := c.SetLoggingLevel(t.Context(), &sdkmcp.SetLoggingLevelParams{Level: "debug"}); err != nil {
		t.Fatal(err)
	}
	// A log that comes just before its call's answer may be overtaken by it, and is no call's then.
	hosttest.WaitUntil(t, "a log comes", func() bool {
		mcptest.MustCallTool(t, c, "greeter_log", map[string]any{})
		return len(logs) > 0
	})
	if said := received(t, logs); !strings.Contains(said, "something happened!") {
		t.Errorf("%q", said)
	}
	if r := mcptest.MustCallTool(t, c, "greeter_elicit_form", map[string]any{}); r.IsError || mcptest.ResultText(r) != "4" {
		t.Errorf("%s", mcptest.ResultText(r))
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
func TestServerStatePersists(t *testing.T) {
	t.Parallel()
	h := mcptest.NewHome(t)
	h.AddServer("graph", "--", hosttest.ProgramPath("servers/memory"), "-memory", "{{state}}/kb.json")
	remember(t, h, "graph")
}

func remember(t *testing.T, h mcptest.Home, name string) {
	t.Helper()
	entity := map[string]any{"name": "Ada", "entityType": "person", "observations": []string{"likes engines"}}
	if a := h.CallTool(name+".create_entities", map[string]any{"entities": []any{entity}}); !a.OK {
		t.Fatal(a.FullText())
	}
	if a := h.CallTool(name+".read_graph", map[string]any{}); !strings.Contains(a.Text+string(a.Structured), "likes engines") {
		t.Error(a.FullText())
	}
}
