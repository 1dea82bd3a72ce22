package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
)

// A tool's question goes to the person in whose session the call is made, and the answer comes back to the tool.
func TestToolElicitation(t *testing.T) {
	for _, test := range []struct{ result, want string }{
		{`{"action":"accept","content":{"n":7}}`, `accept{\"n\":7}`},
		{`{"action":"accept","content":{}}`, `accept{\"n\":3}`},
		{`{"action":"decline"}`, `decline`},
		{`{"action":"cancel"}`, `cancel`},
		{`{"action":"accept","content":{"n":"many"}}`, `does not match requested schema`},
	} {
		c := talkWith(t, "2025-11-25", `{"elicitation":{}}`)
		c.send(toolCall("7", "ask"))
		line := c.line()
		for _, part := range []string{`"method":"elicitation/create"`, `The tool test.tell asks: How many?`, `"default":3`} {
			if !strings.Contains(line, part) {
				t.Fatalf("%s is missing: %s", part, line)
			}
		}
		var question struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(line), &question); err != nil {
			t.Fatal(err)
		}
		c.send(`{"jsonrpc":"2.0","id":` + string(question.ID) + `,"result":` + test.result + `}`)
		if answer := c.line(); !strings.Contains(answer, test.want) {
			t.Errorf("%s: %s", test.result, answer)
		}
	}
}

func TestQuestionEscapesHiddenCharacters(t *testing.T) {
	asked := newApprovalForm(session.ApprovalQuestion{Tool: "shell.exec", Args: map[string]any{"command": "rm a\u200bb \u202egpj"},
		Decision: guard.Decision{Reason: "dangerous \u2066x", Rule: "r"}}).Message
	for _, want := range []string{`rm a\u200bb \u202egpj`, `dangerous \u2066x`} {
		if !strings.Contains(asked, want) {
			t.Errorf("%s is not in %q", want, asked)
		}
	}
}

func TestApprovalFormShowsWholeCall(t *testing.T) {
	args := map[string]any{"command": "touch " + strings.Repeat("a ", 50_000) + "; rm last", "cwd": "sub",
		"env": map[string]any{"NAME": strings.Repeat("v", 5000) + "end"}, "many": []any{"x", 1.5, []any{true, nil}}}
	whole, err := jsonv2.Marshal(args, jsonv2.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	asked := newApprovalForm(session.ApprovalQuestion{Tool: "shell.exec", Args: args, Decision: guard.Decision{Reason: "r", Rule: "r"}}).Message
	if !strings.Contains(asked, string(whole)) || !strings.Contains(asked, "shell.exec") {
		t.Errorf("of the %d bytes of the call, the form of %d bytes shows not all: %.300q", len(whole), len(asked), asked)
	}
}

func TestElicitationWithoutClientSupport(t *testing.T) {
	for _, capabilities := range []string{`{}`, `{"elicitation":{"url":{}}}`} {
		c := talkWith(t, "2025-11-25", capabilities)
		c.send(toolCall("7", "ask"))
		if answer := c.line(); !strings.Contains(answer, "nobody") {
			t.Errorf("%s: %s", capabilities, answer)
		}
	}
}

func TestToolLogsReachClient(t *testing.T) {
	const plain, more = `"data":"plain","level":"info","logger":"test.tell"`,
		`"data":{"message":"with more","n":1},"level":"warning","logger":"test.tell"`
	for level, want := range map[string][]string{"": nil, "debug": {plain, more}, "warning": {more}, "error": nil} {
		c := talkTo(t, "2025-11-25")
		if level != "" {
			c.send(`{"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"` + level + `"}}`)
			c.line()
		}
		c.send(toolCall("7", "log"))
		for _, part := range want {
			if line := c.line(); !strings.Contains(line, `"method":"notifications/message"`) || !strings.Contains(line, part) {
				t.Errorf("from %s on: %s; want %s", level, line, part)
			}
		}
		if line := c.line(); !strings.Contains(line, `"id":7`) {
			t.Errorf("from %s on it hears besides: %s", level, line)
		}
	}
}

func TestResultWithSeveralBlocks(t *testing.T) {
	c := talkTo(t, "2025-11-25")
	c.send(toolCall("7", "blocks"))
	const want = `"content":[{"type":"text","text":"a"},` +
		`{"type":"resource","resource":{"uri":"test://r","mimeType":"text/plain","text":"b"}},` +
		`{"type":"audio","data":"AQ==","mimeType":"audio/wav"},{"type":"resource","resource":{"uri":"test://s","blob":"Ag=="}}]`
	if line := c.line(); !strings.Contains(line, want) {
		t.Errorf("%s\nwant %s", line, want)
	}
}
