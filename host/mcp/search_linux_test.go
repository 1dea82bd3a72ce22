package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// stocked is a session with tools that come and go. A call says which one was called.
type stocked struct {
	nothing
	mu    sync.Mutex
	tools []session.Tool
}

func (s *stocked) Tools() []session.Tool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.tools)
}

func (s *stocked) set(tools []session.Tool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools = tools
}

func (*stocked) Call(_ context.Context, tool string, _ json.RawMessage, _ func(session.CallEvent)) *session.Result {
	return &session.Result{Text: "called " + tool}
}

func stockTool(plugin, name, doc string, deferred bool) session.Tool {
	spec := &pluginpb.ToolSpec{Name: name, Doc: doc, Input: new(pluginpb.Schema)}
	const input = `{"type":"object","properties":{"amount":{"type":"integer"}}}`
	if err := spec.Input.UnmarshalJSON([]byte(input)); err != nil {
		panic(err) // it is a schema
	}
	return session.Tool{Name: plugin + "." + name, Plugin: plugin, Deferred: deferred, Spec: spec}
}

// stock is two tools that are listed, and 300 that are deferred.
func stock() *stocked {
	tools := []session.Tool{stockTool("test", "read", "Reads.", false), stockTool("test", "write", "Writes.", false)}
	for i := range 297 {
		tools = append(tools, stockTool("many", fmt.Sprintf("n%03d", i), "Counts.", true))
	}
	return &stocked{tools: append(tools, stockTool("git", "commit", "Records files in the history.", true),
		stockTool("git", "push", "Sends the history away.", true), stockTool("mail", "send", "Sends a letter.", true))}
}

// ask sends a request and returns the answer. Whether the client was told of a changed list before it is kept.
func (c *talk) ask(method, params string) string {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":9,"method":"` + method + `","params":` + params + `}`)
	for {
		line := c.line()
		if strings.Contains(line, `"id":9`) {
			return line
		}
		c.told = c.told || strings.Contains(line, `"notifications/tools/list_changed"`)
	}
}

func (c *talk) search(arguments string) string {
	c.t.Helper()
	return c.ask("tools/call", `{"name":"tools_search","arguments":`+arguments+`}`)
}

// changed waits until the client is told that the list has changed, since it was told last.
func (c *talk) changed() {
	c.t.Helper()
	hosttest.WaitUntil(c.t, "the client is told that the list has changed", func() bool {
		c.ask("ping", `{}`)
		return c.told
	})
	c.told = false
}

// listed are the names of the tools that the client is listed.
func (c *talk) listed() []string {
	c.t.Helper()
	line := c.ask("tools/list", `{}`)
	var list struct {
		Result struct{ Tools []struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(line), &list); err != nil {
		c.t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Result.Tools {
		names = append(names, tool.Name)
	}
	slices.Sort(names)
	return names
}

func (c *talk) wantListed(want ...string) {
	c.t.Helper()
	if got := c.listed(); !slices.Equal(got, want) {
		c.t.Errorf("listed are %q; want %q", got, want)
	}
}

// A client is listed deferred tools when it has searched for them, and is told so; another one's list stays as it was.
func TestFoundToolsAreListed(t *testing.T) {
	server := NewServer(stock(), "test", "")
	c, other := connectWith(t, server).begin("2025-11-25", `{}`), connectWith(t, server).begin("2025-11-25", `{}`)
	c.wantListed("test_read", "test_write", "tools_search")
	answer := c.search(`{"query":"file history"}`)
	for _, part := range []string{`\"name\":\"git_commit\"`, `\"description\":\"Records files`, `\"inputSchema\":{`,
		`\"name\":\"git_push\"`} {
		if !strings.Contains(answer, part) {
			t.Errorf("%s is missing: %s", part, answer)
		}
	}
	if strings.Index(answer, "git_push") < strings.Index(answer, "git_commit") {
		t.Errorf("what fits less is found first: %s", answer)
	}
	c.changed()
	c.wantListed("git_commit", "git_push", "test_read", "test_write", "tools_search")
	other.changed()
	other.wantListed("test_read", "test_write", "tools_search")
	other.search(`{"query":"letter"}`)
	c.changed()
	other.changed()
	other.wantListed("mail_send", "test_read", "test_write", "tools_search")
}

func TestUnlistedToolCanBeCalled(t *testing.T) {
	s := stock()
	c := connectWith(t, NewServer(s, "test", "")).begin("2025-11-25", `{}`)
	answer := c.ask("tools/call", `{"name":"many_n007","arguments":{}}`)
	if !strings.Contains(answer, "called many.n007") {
		t.Error(answer)
	}
	c.wantListed("test_read", "test_write", "tools_search")

	// In the protocol's newest version no client is sure of a session of its own.
	const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"t","version":"1"}}`
	c = connectWith(t, NewServer(s, "test", ""))
	answer = c.ask("tools/call", `{"name":"tools_search","arguments":{"query":"letter"},`+meta+`}`)
	if !strings.Contains(answer, `\"name\":\"mail_send\"`) || !strings.Contains(answer, `\"inputSchema\":{`) {
		t.Error(answer)
	}
	answer = c.ask("tools/call", `{"name":"many_n007","arguments":{},`+meta+`}`)
	if !strings.Contains(answer, "called many.n007") {
		t.Error(answer)
	}
	answer = c.ask("tools/list", `{`+meta+`}`)
	if !strings.Contains(answer, `"cacheScope":"private"`) || strings.Contains(answer, "many_n007") {
		t.Error(answer)
	}
}

func TestNoSearchWithoutDeferredTools(t *testing.T) {
	s := stock()
	deferred := s.Tools()
	s.set(deferred[:2])
	server := NewServer(s, "test", "")
	c := connectWith(t, server).begin("2025-11-25", `{}`)
	c.wantListed("test_read", "test_write")
	if answer := c.search(`{"query":"letter"}`); !strings.Contains(answer, "unknown tool") {
		t.Errorf("a search that is not offered is answered: %s", answer)
	}
	s.set(deferred)
	server.tools.refreshTools()
	c.changed()
	c.wantListed("test_read", "test_write", "tools_search")
	s.set(deferred[:2])
	server.tools.refreshTools()
	c.changed()
	c.wantListed("test_read", "test_write")
}

// A plugin's own tool of the search's name is the one that is called, and then nothing is left out of the list.
func TestPluginSearchToolIsKept(t *testing.T) {
	s := stock()
	s.set(s.Tools()[298:])
	ours := s.Tools()
	server := NewServer(s, "test", "")
	c := connectWith(t, server).begin("2025-11-25", `{}`)
	c.wantListed("tools_search")
	s.set(append(ours, stockTool("tools", "search", "Searches.", false)))
	server.tools.refreshTools()
	c.changed()
	if answer := c.search(`{"query":"letter"}`); !strings.Contains(answer, "called tools.search") {
		t.Error(answer)
	}
	c.wantListed("git_commit", "git_push", "mail_send", "many_n296", "tools_search")
	s.set(ours)
	server.tools.refreshTools()
	c.changed()
	if answer := c.search(`{"query":"letter"}`); !strings.Contains(answer, "mail_send") {
		t.Error(answer)
	}
}

// A tool that was gone is left out again, as one that comes for the first time is.
func TestRemovedToolIsDeferredAgain(t *testing.T) {
	s := stock()
	all, server := s.Tools(), NewServer(s, "test", "")
	c := connectWith(t, server).begin("2025-11-25", `{}`)
	c.search(`{"query":"letter"}`)
	c.changed()
	for _, tools := range [][]session.Tool{all[:301], all} {
		s.set(tools)
		server.tools.refreshTools()
		c.changed()
		c.wantListed("test_read", "test_write", "tools_search")
	}
}

func TestSearchArguments(t *testing.T) {
	c := connectWith(t, NewServer(stock(), "test", "")).begin("2025-11-25", `{}`)
	for arguments, want := range map[string]string{
		`{}`:                          "query is missing",
		`{"query":" "}`:               "query is empty",
		`{"query":7}`:                 "query is a number",
		`{"query":"x","limit":"two"}`: "limit is a string",
		`{"query":"x","limit":0}`:     "limit is 0",
		`{"query":"x","limit":21}`:    "limit is 21",
		`{"query":"x","words":true}`:  `unknown field \"words\"`,
		`[]`:                          "invalid arguments",
	} {
		answer := c.search(arguments)
		if !strings.Contains(answer, want) || !strings.Contains(answer, `"isError":true`) ||
			!strings.Contains(answer, `hint: give query`) {
			t.Errorf("%s: %s; want %s", arguments, answer, want)
		}
	}
	for arguments, want := range map[string]int{
		`{"query":"n0"}`: 0, `{"query":"counts"}`: 5, `{"query":"counts","limit":20}`: 20, `{"query":"N007 x"}`: 1,
		`{"query":"nonsense"}`: 0, `{"query":"letters"}`: 1, `{"query":"mail.send","limit":1}`: 1,
		`{"query":"amount","limit":8}`: 8, `{"query":"file"}`: 1, `{"query":"a"}`: 1,
	} {
		if answer := c.search(arguments); strings.Count(answer, `\"inputSchema\"`) != want ||
			strings.Contains(answer, `"isError":true`) {
			t.Errorf("%s: %s; want %d tools", arguments, answer, want)
		}
	}
}
