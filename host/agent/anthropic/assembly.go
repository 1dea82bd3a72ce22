package anthropic

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/internal/wire"
)

// jsonFields are the fields of a JSON object.
type jsonFields = map[string]json.RawMessage

// replyAssembler builds a reply from stream events.
type replyAssembler struct {
	onText   func(string)
	blocks   map[int]*contentBlock
	usage    tokenUsage
	reason   string
	finished bool
}

// contentBlock is a partial block of a reply.
type contentBlock struct {
	fields jsonFields
	input  strings.Builder // pieces of a call's arguments
}

// tokenUsage is the usage reported so far. Each new value of a field replaces the previous one.
type tokenUsage struct {
	Input      agent.TokenCount `json:"input_tokens"`
	CacheRead  agent.TokenCount `json:"cache_read_input_tokens"`
	CacheWrite agent.TokenCount `json:"cache_creation_input_tokens"`
	Output     agent.TokenCount `json:"output_tokens"`
}

// streamEvent is one event of a stream.
type streamEvent struct {
	Type    string
	Index   int
	Message struct{ Usage json.RawMessage }
	Block   jsonFields `json:"content_block"`
	Delta   jsonFields
	Usage   json.RawMessage
	Error   json.RawMessage
}

// IsComplete reports whether the server has ended the reply.
func (a *replyAssembler) IsComplete() bool { return a.finished }

// AddData adds a stream event. It ignores unknown events, as the protocol requires.
func (a *replyAssembler) AddData(data []byte) (last bool, err error) {
	err = a.addEvent(data)
	return a.finished, err
}

func (a *replyAssembler) addEvent(data []byte) error {
	var e streamEvent
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("an event is not one: %w: %s", err, wire.TextSnippet(data))
	}
	switch e.Type {
	case "error":
		if len(e.Error) == 0 {
			return fmt.Errorf("an error has no type: %s", wire.TextSnippet(data))
		}
		return wire.EventError(e.Error)
	case "message_start":
		return a.addUsage(e.Message.Usage)
	case "content_block_start":
		if a.blocks[e.Index] != nil || e.Block == nil {
			return fmt.Errorf("block %d begins twice, or with nothing: %s", e.Index, wire.TextSnippet(data))
		}
		a.blocks[e.Index] = &contentBlock{fields: e.Block}
		a.emitText(stringField(e.Block["type"]), stringField(e.Block["text"]))
	case "content_block_delta":
		b := a.blocks[e.Index]
		if b == nil {
			return fmt.Errorf("a piece belongs to block %d, which has not begun: %s", e.Index, wire.TextSnippet(data))
		}
		return a.addDelta(b, e.Delta)
	case "message_delta":
		if reason := stringField(e.Delta["stop_reason"]); reason != "" {
			a.reason = reason
		}
		return a.addUsage(e.Usage)
	case "message_stop":
		a.finished = true
	}
	return nil
}

func (a *replyAssembler) addUsage(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, &a.usage); err != nil {
		return fmt.Errorf("usage is not one: %w: %s", err, wire.TextSnippet(raw))
	}
	return nil
}

func (a *replyAssembler) emitText(kind, text string) {
	if kind == "text" && text != "" && a.onText != nil {
		a.onText(text)
	}
}

// addDelta appends the text of a delta to its block.
func (a *replyAssembler) addDelta(b *contentBlock, delta jsonFields) error {
	switch kind := stringField(delta["type"]); kind {
	case "":
		return fmt.Errorf("a piece has no type: %s", wire.TextSnippet(wire.EncodeOrNil(delta)))
	case "input_json_delta":
		var piece string
		if err := json.Unmarshal(delta["partial_json"], &piece); err != nil {
			return fmt.Errorf("partial_json is no text: %s", wire.TextSnippet(wire.EncodeOrNil(delta)))
		}
		b.input.WriteString(piece)
	case "citations_delta":
		var known []json.RawMessage
		_ = json.Unmarshal(b.fields["citations"], &known) // initially null
		b.fields["citations"] = wire.EncodeOrNil(append(known, delta["citation"]))
	default:
		for name, value := range delta {
			var piece string
			if name == "type" || json.Unmarshal(value, &piece) != nil {
				continue
			}
			b.fields[name] = wire.EncodeOrNil(stringField(b.fields[name]) + piece)
			a.emitText(name, piece)
		}
	}
	return nil
}

// BuildReply returns the reply.
func (a *replyAssembler) BuildReply(from string) (*agent.ModelReply, error) {
	m := agent.Message{Role: agent.Assistant, From: from}
	var kept []jsonFields
	for _, i := range slices.Sorted(maps.Keys(a.blocks)) {
		b := a.blocks[i]
		switch stringField(b.fields["type"]) {
		case "text":
			if m.Text += stringField(b.fields["text"]); stringField(b.fields["text"]) == "" {
				continue // not accepted in requests
			}
		case "tool_use":
			call := agent.ToolCall{ID: stringField(b.fields["id"]), Tool: stringField(b.fields["name"]), Arguments: b.callArguments()}
			if call.ID == "" || call.Tool == "" {
				return nil, fmt.Errorf("a call has no id or no name: %s", wire.TextSnippet(wire.EncodeOrNil(b.fields)))
			}
			b.fields["input"] = argumentsObject(call.Arguments)
			m.Calls = append(m.Calls, call)
		default:
			if b.input.Len() > 0 {
				b.fields["input"] = argumentsObject(b.callArguments())
			}
		}
		kept = append(kept, b.fields)
	}
	if len(m.Calls) > 0 || m.Text != "" {
		m.Extra = wire.EncodeOrNil(kept)
	}
	r := &agent.ModelReply{Message: m, Stop: agent.StopEnded, Usage: agent.TokenUsage{Input: int64(a.usage.Input),
		CacheRead: int64(a.usage.CacheRead), CacheWrite: int64(a.usage.CacheWrite), Output: int64(a.usage.Output)}}
	switch a.reason {
	case "max_tokens", "model_context_window_exceeded":
		r.Stop = agent.StopLength
	case "refusal":
		r.Stop = agent.StopRefused
	}
	return r, nil
}

// callArguments returns the arguments of a call, or the model's invalid text as a JSON string.
func (b *contentBlock) callArguments() json.RawMessage {
	pieces := b.input.String()
	if input := b.fields["input"]; len(input) > 0 && strings.TrimSpace(pieces) == "" {
		return input
	}
	return wire.CallArguments(pieces)
}

// stringField decodes a JSON string; "" for other types.
func stringField(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
