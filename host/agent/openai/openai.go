// Package openai asks models by the chat completions protocol, which OpenAI, most other providers and local servers
// speak. What an answer consists of is put together here from the raw JSON of its pieces, because servers keep to the
// protocol each in its own way; what is not known is kept and sent back. The package must not know the loop.
package openai

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/internal/wire"
)

// DefaultBaseURL is OpenAI's own.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options say which model is asked, and where: at [DefaultBaseURL] if nothing else is said.
type Options = agent.Endpoint

// Model is a model behind the protocol.
type Model struct {
	model  string
	limit  string // the field that bounds an answer
	body   map[string]any
	server *wire.Server
}

// New makes a model.
func New(o Options) (*Model, error) {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	header := map[string]string{}
	if o.Key != "" {
		header["Authorization"] = "Bearer " + o.Key
	}
	server, err := wire.NewServer("openai", o, header)
	if err != nil {
		return nil, err
	}
	m := &Model{model: o.Model, limit: "max_tokens", body: o.Body, server: server}
	if strings.HasPrefix(o.BaseURL, "https://api.openai.com/") {
		m.limit = "max_completion_tokens" // its newer models take no other
	}
	return m, nil
}

// Generate asks the model.
func (m *Model) Generate(ctx context.Context, r agent.Request, onText func(string)) (*agent.Reply, error) {
	body, err := m.request(r)
	if err != nil {
		return nil, err
	}
	return m.server.Ask(ctx, "chat/completions", body, newAssembly(onText))
}

// request is the body of a request.
func (m *Model) request(r agent.Request) ([]byte, error) {
	body := map[string]any{
		"model": m.model, "messages": m.messages(r), "stream": true, "stream_options": map[string]any{"include_usage": true},
	}
	if r.MaxTokens > 0 {
		body[m.limit] = r.MaxTokens
	}
	var tools []any
	for _, t := range r.Tools {
		tools = append(tools, map[string]any{"type": "function", "function": map[string]any{
			"name": t.Name, "description": t.Doc, "parameters": t.Schema,
		}})
	}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	return wire.Encode(body, m.body)
}

// messages are a request's in the protocol's form. What several of a user's in a row say becomes one, because some
// servers insist on turns.
func (m *Model) messages(r agent.Request) []any {
	var all []any
	if r.System != "" {
		all = append(all, map[string]any{"role": "system", "content": r.System})
	}
	var user map[string]any
	for _, message := range r.Messages {
		if message.Role == agent.User && user != nil {
			user["content"] = user["content"].(string) + "\n\n" + message.Text
			continue
		}
		user = nil
		switch message.Role {
		case agent.User:
			user = map[string]any{"role": "user", "content": message.Text}
			all = append(all, user)
		case agent.ToolResult:
			all = append(all, map[string]any{"role": "tool", "tool_call_id": message.CallID, "content": message.Text})
		case agent.Assistant:
			if message.Text != "" || len(message.Calls) > 0 {
				all = append(all, m.assistant(message))
			}
		}
	}
	return all
}

func (m *Model) assistant(message agent.Message) map[string]any {
	out := map[string]any{"role": "assistant", "content": message.Text}
	if message.Text == "" {
		out["content"] = nil
	}
	ours := message.From == m.server.Protocol
	if ours {
		extend(out, message.Extra)
	}
	var calls []any
	for _, c := range message.Calls {
		function := map[string]any{"name": c.Tool, "arguments": text(c.Arguments)}
		call := map[string]any{"id": c.ID, "type": "function", "function": function}
		if ours {
			extend(call, c.Extra)
		}
		calls = append(calls, call)
	}
	if len(calls) > 0 {
		out["tool_calls"] = calls
	}
	return out
}

// extend adds what was kept of a server's own fields.
func extend(out map[string]any, extra json.RawMessage) {
	var fields map[string]json.RawMessage
	if len(extra) == 0 || json.Unmarshal(extra, &fields) != nil {
		return
	}
	for name, value := range fields {
		if _, ours := out[name]; !ours {
			out[name] = value
		}
	}
}

// text is what a call's arguments were to the server: the text of JSON.
func text(arguments json.RawMessage) string {
	var plain string
	if json.Unmarshal(arguments, &plain) == nil {
		return plain
	}
	return string(arguments)
}
