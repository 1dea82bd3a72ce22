// Package anthropic asks models by Anthropic's messages protocol. An answer's blocks are kept as they came, signed
// thinking among them, and sent back unchanged. The package must not know the loop.
package anthropic

import (
	"context"
	"encoding/json"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/internal/wire"
)

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

// protocolVersion is the version of the protocol that is spoken here.
const protocolVersion = "2023-06-01"

// defaultMaxTokens is for requests that do not say: the protocol wants a number.
const defaultMaxTokens = 8192

// Options say which model is asked, and where: at [DefaultBaseURL] if nothing else is said.
type Options = agent.Endpoint

// Model is a model behind the protocol.
type Model struct {
	model  string
	body   map[string]any
	server *wire.Server
}

// New makes a model.
func New(o Options) (*Model, error) {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	header := map[string]string{"Anthropic-Version": protocolVersion}
	if o.Key != "" {
		header["X-Api-Key"] = o.Key
	}
	server, err := wire.NewServer("anthropic", o, header)
	if err != nil {
		return nil, err
	}
	return &Model{o.Model, o.Body, server}, nil
}

// Generate asks the model.
func (m *Model) Generate(ctx context.Context, r agent.Request, onText func(string)) (*agent.Reply, error) {
	body, err := m.request(r)
	if err != nil {
		return nil, err
	}
	return m.server.Ask(ctx, "v1/messages", body, &assembly{onText: onText, blocks: map[int]*block{}})
}

// cached has the provider keep what stands before it, which costs less to read the next time.
var cached = map[string]any{"type": "ephemeral"}

// request is the body of a request.
func (m *Model) request(r agent.Request) ([]byte, error) {
	body := map[string]any{"model": m.model, "max_tokens": r.MaxTokens, "stream": true}
	if r.MaxTokens <= 0 {
		body["max_tokens"] = defaultMaxTokens
	}
	if r.System != "" {
		body["system"] = []any{map[string]any{"type": "text", "text": r.System, "cache_control": cached}}
	}
	var tools []any
	for _, t := range r.Tools {
		tools = append(tools, map[string]any{"name": t.Name, "description": t.Doc, "input_schema": t.Schema})
	}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	body["messages"] = m.messages(r.Messages)
	return wire.Encode(body, m.body)
}

// messages are in the protocol's form, where tools' results are the user's and turns alternate.
func (m *Model) messages(all []agent.Message) []any {
	var out []any
	var user []any // blocks of the user's message that is being made
	flush := func() {
		if len(user) > 0 {
			out = append(out, map[string]any{"role": "user", "content": user})
		}
		user = nil
	}
	for _, message := range all {
		switch message.Role {
		case agent.User:
			if message.Text != "" {
				user = append(user, map[string]any{"type": "text", "text": message.Text})
			}
		case agent.ToolResult:
			result := map[string]any{"type": "tool_result", "tool_use_id": message.CallID, "content": message.Text}
			if message.Failed {
				result["is_error"] = true
			}
			user = append(user, result)
		case agent.Assistant:
			if blocks := m.assistant(message); blocks != nil {
				flush()
				out = append(out, map[string]any{"role": "assistant", "content": blocks})
			}
		}
	}
	if len(user) > 0 {
		user[len(user)-1].(map[string]any)["cache_control"] = cached
	}
	flush()
	return out
}

// assistant are the blocks of an assistant's message; nil if there are none.
func (m *Model) assistant(message agent.Message) any {
	if message.From == m.server.Protocol && len(message.Extra) > 0 {
		return message.Extra
	}
	var blocks []any
	if message.Text != "" {
		blocks = append(blocks, map[string]any{"type": "text", "text": message.Text})
	}
	for _, c := range message.Calls {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Tool, "input": object(c.Arguments)})
	}
	if blocks == nil {
		return nil
	}
	return blocks
}

// object is a call's arguments as the protocol wants them. A model that wrote something else is shown what it was.
func object(arguments json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(arguments, &fields) == nil && fields != nil {
		return arguments
	}
	return wire.Encoded(map[string]json.RawMessage{"malformed": arguments})
}
