// Package anthropic asks models by Anthropic's messages protocol. An answer's blocks are kept as they came, signed
// thinking among them, and sent back unchanged. The package must not know the loop.
package anthropic

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/url"

	"github.com/anthropics/anthropic-sdk-go"
	"github.com/anthropics/anthropic-sdk-go/option"
	"github.com/anthropics/anthropic-sdk-go/packages/ssestream"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/internal/wire"
)

// DefaultBaseURL is Anthropic's own.
const DefaultBaseURL = "https://api.anthropic.com"

// defaultMaxTokens is for requests that do not say: the protocol wants a number.
const defaultMaxTokens = 8192

// Options say which model is asked, and where.
type Options struct {
	Model   string
	BaseURL string // empty for [DefaultBaseURL]
	Key     string
	Headers map[string]string // besides
	// Body is added to each request, in place of what it has, such as "thinking". Nil takes away.
	Body   map[string]any
	Client *http.Client // nil for Go's own; its redirections are not followed
}

// Model is a model behind the protocol.
type Model struct {
	model  string
	from   string
	body   map[string]any
	server *wire.Server
	client anthropic.Client
}

// New makes a model. Nothing is taken from the environment.
func New(o Options) (*Model, error) {
	if o.BaseURL == "" {
		o.BaseURL = DefaultBaseURL
	}
	server, err := wire.NewServer(o.Model, o.BaseURL, o.Key, o.Headers, o.Client)
	if err != nil {
		return nil, err
	}
	options := []option.RequestOption{
		option.WithBaseURL(o.BaseURL), option.WithMaxRetries(0), option.WithHTTPClient(server.Client()),
	}
	if o.Key != "" {
		options = append(options, option.WithAPIKey(o.Key))
	}
	for name, value := range o.Headers {
		options = append(options, option.WithHeader(name, value))
	}
	u, err := url.Parse(o.BaseURL)
	if err != nil {
		return nil, err
	}
	return &Model{model: o.Model, from: "anthropic " + u.Host, body: o.Body, server: server,
		client: anthropic.Client{Options: options}}, nil
}

// Generate asks the model.
func (m *Model) Generate(ctx context.Context, r agent.Request, onText func(string)) (*agent.Reply, error) {
	body, err := m.request(r)
	if err != nil {
		return nil, err
	}
	ctx, heard, end := wire.Listen(ctx)
	defer end()
	var response *http.Response
	err = m.client.Post(ctx, "v1/messages", body, &response, option.WithHeader("Accept", "text/event-stream"))
	if response == nil {
		return nil, m.server.Broken(ctx, err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK { // be it that the SDK takes that for an error or not
		return nil, m.server.Refused(response.StatusCode, response.Header, said(response.Body))
	}
	a := &assembly{onText: onText, blocks: map[int]*block{}}
	events := ssestream.NewDecoder(response)
	for !a.finished && events.Next() {
		heard()
		if err := a.add(events.Event().Data); err != nil {
			return nil, m.server.Malformed("%v", err)
		}
		if f := a.failure; f != nil {
			return nil, m.server.Refused(f.status(), nil, f.Message)
		}
	}
	if !a.finished {
		return nil, m.server.Broken(ctx, events.Err())
	}
	reply, err := a.reply(m.from)
	if err != nil {
		return nil, m.server.Malformed("%v", err)
	}
	return reply, nil
}

// said is what the body of a refusal says.
func said(body io.Reader) string {
	data, err := io.ReadAll(io.LimitReader(body, 64<<10))
	if err != nil {
		return ""
	}
	var answer struct{ Error failure }
	if json.Unmarshal(data, &answer) == nil && answer.Error.Message != "" {
		return answer.Error.Message
	}
	return string(data)
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
	maps.Copy(body, m.body)
	maps.DeleteFunc(body, func(_ string, value any) bool { return value == nil })
	return wire.Encode(body)
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
	if message.From == m.from && len(message.Extra) > 0 {
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
	return encoded(map[string]json.RawMessage{"malformed": arguments})
}
