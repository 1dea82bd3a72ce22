// Package anthropic implements Anthropic's messages protocol. It stores an answer's blocks, including signed thinking,
// and sends them back unchanged. The package must not know the agent loop.
package anthropic

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/internal/wire"
)

// DefaultBaseURL is Anthropic's API.
const DefaultBaseURL = "https://api.anthropic.com"

// protocolVersion is the version of Anthropic's protocol that this package implements.
const protocolVersion = "2023-06-01"

// defaultMaxTokens is used if a request has no limit, since the protocol requires one.
const defaultMaxTokens = 8192

// Options configure a model. The default base URL is [DefaultBaseURL].
type Options = agent.ModelEndpoint

// Model is a language model with Anthropic's Messages API.
type Model struct {
	model  string
	body   map[string]any
	server *wire.ModelClient
}

// New returns a model.
func New(o Options) (*Model, error) {
	o.BaseURL = cmp.Or(o.BaseURL, DefaultBaseURL)
	header := map[string]string{"Anthropic-Version": protocolVersion}
	if o.Key != "" {
		header["X-Api-Key"] = o.Key
	}
	server, err := wire.NewModelClient("anthropic", o, header)
	if err != nil {
		return nil, err
	}
	return &Model{o.Model, o.Body, server}, nil
}

// Generate implements [agent.Model].
func (m *Model) Generate(ctx context.Context, r agent.ModelRequest, onText func(string)) (*agent.ModelReply, error) {
	body, err := m.encodeRequest(r)
	if err != nil {
		return nil, err
	}
	return m.server.PostRequest(ctx, "v1/messages", body, &replyAssembler{onText: onText, blocks: map[int]*contentBlock{}})
}

// cacheControl asks the provider to cache the request up to this point, which makes later requests cheaper.
var cacheControl = map[string]any{"type": "ephemeral"}

func (m *Model) encodeRequest(r agent.ModelRequest) ([]byte, error) {
	body := map[string]any{"model": m.model, "max_tokens": r.MaxTokens, "stream": true}
	if r.MaxTokens <= 0 {
		body["max_tokens"] = defaultMaxTokens
	}
	if r.System != "" {
		body["system"] = []any{map[string]any{"type": "text", "text": r.System, "cache_control": cacheControl}}
	}
	var tools []any
	for _, t := range r.Tools {
		tools = append(tools, map[string]any{"name": t.Name, "description": t.Doc, "input_schema": t.Schema})
	}
	if len(tools) > 0 {
		body["tools"] = tools
	}
	body["messages"] = m.convertMessages(r.Messages)
	return wire.EncodeBody(body, m.body)
}

// convertMessages converts messages to the protocol, where tool results are user messages and roles alternate.
func (m *Model) convertMessages(all []agent.Message) []any {
	var out []any
	var user []any // blocks of the current user message
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
			if blocks := m.assistantContent(message); blocks != nil {
				flush()
				out = append(out, map[string]any{"role": "assistant", "content": blocks})
			}
		}
	}
	if len(user) > 0 {
		user[len(user)-1].(map[string]any)["cache_control"] = cacheControl
	}
	flush()
	return out
}

// assistantContent returns the content blocks of an assistant message; nil if there are none.
func (m *Model) assistantContent(message agent.Message) any {
	if message.From == m.server.Protocol && len(message.Extra) > 0 {
		return message.Extra
	}
	var blocks []any
	if message.Text != "" {
		blocks = append(blocks, map[string]any{"type": "text", "text": message.Text})
	}
	for _, c := range message.Calls {
		blocks = append(blocks, map[string]any{"type": "tool_use", "id": c.ID, "name": c.Tool, "input": argumentsObject(c.Arguments)})
	}
	if blocks == nil {
		return nil
	}
	return blocks
}

// argumentsObject returns a call's arguments as a JSON object. It wraps invalid arguments, so the model sees them.
func argumentsObject(arguments json.RawMessage) json.RawMessage {
	var fields map[string]json.RawMessage
	if json.Unmarshal(arguments, &fields) == nil && fields != nil {
		return arguments
	}
	return wire.EncodeOrNil(map[string]json.RawMessage{"malformed": arguments})
}
