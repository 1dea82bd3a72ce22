// Package openai implements the chat completions protocol, spoken by OpenAI, most other providers and local servers.
// Servers deviate from the protocol, so answers are assembled from raw JSON; unknown fields are stored and sent back.
// The package must not know the agent loop.
package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/internal/wire"
)

// DefaultBaseURL is OpenAI's API.
const DefaultBaseURL = "https://api.openai.com/v1"

// Options configure a model. The default base URL is [DefaultBaseURL].
type Options = agent.ModelEndpoint

// Model is a language model with OpenAI's Chat Completions API.
type Model struct {
	model      string
	limitField string // name of the token limit field
	body       map[string]any
	server     *wire.ModelClient
}

// New returns a model.
func New(o Options) (*Model, error) {
	o.BaseURL = cmp.Or(o.BaseURL, DefaultBaseURL)
	header := map[string]string{}
	if o.Key != "" {
		header["Authorization"] = "Bearer " + o.Key
	}
	server, err := wire.NewModelClient("openai", o, header)
	if err != nil {
		return nil, err
	}
	m := &Model{model: o.Model, limitField: "max_tokens", body: o.Body, server: server}
	if strings.HasPrefix(o.BaseURL, "https://api.openai.com/") {
		m.limitField = "max_completion_tokens" // required by newer models
	}
	return m, nil
}

// Generate implements [agent.Model].
func (m *Model) Generate(ctx context.Context, r agent.ModelRequest, onText func(string)) (*agent.ModelReply, error) {
	body, err := m.encodeRequest(r)
	if err != nil {
		return nil, err
	}
	return m.server.PostRequest(ctx, "chat/completions", body, newReplyAssembler(onText))
}

func (m *Model) encodeRequest(r agent.ModelRequest) ([]byte, error) {
	body := map[string]any{
		"model": m.model, "messages": m.convertMessages(r), "stream": true, "stream_options": map[string]any{"include_usage": true},
	}
	if r.MaxTokens > 0 {
		body[m.limitField] = r.MaxTokens
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
	return wire.EncodeBody(body, m.body)
}

// convertMessages converts messages to the protocol. It merges consecutive user messages, which some servers reject.
func (m *Model) convertMessages(r agent.ModelRequest) []any {
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
				all = append(all, m.assistantMessage(message))
			}
		}
	}
	return all
}

func (m *Model) assistantMessage(message agent.Message) map[string]any {
	out := map[string]any{"role": "assistant", "content": message.Text}
	if message.Text == "" {
		out["content"] = nil
	}
	ours := message.From == m.server.Protocol
	if ours {
		addExtraFields(out, message.Extra)
	}
	var calls []any
	for _, c := range message.Calls {
		function := map[string]any{"name": c.Tool, "arguments": argumentsText(c.Arguments)}
		call := map[string]any{"id": c.ID, "type": "function", "function": function}
		if ours {
			addExtraFields(call, c.Extra)
		}
		calls = append(calls, call)
	}
	if len(calls) > 0 {
		out["tool_calls"] = calls
	}
	return out
}

// addExtraFields adds the stored extra fields of a server's message to out.
func addExtraFields(out map[string]any, extra json.RawMessage) {
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

// argumentsText encodes a call's arguments as text, as the protocol requires.
func argumentsText(arguments json.RawMessage) string {
	var plain string
	if json.Unmarshal(arguments, &plain) == nil {
		return plain
	}
	return string(arguments)
}
