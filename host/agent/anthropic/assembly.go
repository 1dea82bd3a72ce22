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

// fields are those of a JSON object.
type fields = map[string]json.RawMessage

// assembly puts an answer together.
type assembly struct {
	onText   func(string)
	blocks   map[int]*block
	usage    usage
	reason   string
	finished bool
}

// block is a block of an answer, with whatever fields it has.
type block struct {
	fields fields
	input  strings.Builder // the pieces of a call's arguments
}

// usage is counted up in the course of an answer: each field that comes replaces the one before.
type usage struct {
	Input      agent.Count `json:"input_tokens"`
	CacheRead  agent.Count `json:"cache_read_input_tokens"`
	CacheWrite agent.Count `json:"cache_creation_input_tokens"`
	Output     agent.Count `json:"output_tokens"`
}

// event is one of a stream.
type event struct {
	Type    string
	Index   int
	Message struct{ Usage json.RawMessage }
	Block   fields `json:"content_block"`
	Delta   fields
	Usage   json.RawMessage
	Error   json.RawMessage
}

// Whole reports whether the server has said that the answer ends.
func (a *assembly) Whole() bool { return a.finished }

// Add adds an event. Those that are not known are passed over, as the protocol asks.
func (a *assembly) Add(data []byte) (last bool, err error) {
	err = a.addEvent(data)
	return a.finished, err
}

func (a *assembly) addEvent(data []byte) error {
	var e event
	if err := json.Unmarshal(data, &e); err != nil {
		return fmt.Errorf("an event is not one: %w: %s", err, wire.Snippet(data))
	}
	switch e.Type {
	case "error":
		if len(e.Error) == 0 {
			return fmt.Errorf("an error does not say what it is: %s", wire.Snippet(data))
		}
		return wire.Told(e.Error)
	case "message_start":
		return a.addUsage(e.Message.Usage)
	case "content_block_start":
		if a.blocks[e.Index] != nil || e.Block == nil {
			return fmt.Errorf("block %d begins twice, or with nothing: %s", e.Index, wire.Snippet(data))
		}
		a.blocks[e.Index] = &block{fields: e.Block}
		a.say(text(e.Block["type"]), text(e.Block["text"]))
	case "content_block_delta":
		b := a.blocks[e.Index]
		if b == nil {
			return fmt.Errorf("a piece belongs to block %d, which has not begun: %s", e.Index, wire.Snippet(data))
		}
		return a.addDelta(b, e.Delta)
	case "message_delta":
		if reason := text(e.Delta["stop_reason"]); reason != "" {
			a.reason = reason
		}
		return a.addUsage(e.Usage)
	case "message_stop":
		a.finished = true
	}
	return nil
}

func (a *assembly) addUsage(raw json.RawMessage) error {
	if len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, &a.usage); err != nil {
		return fmt.Errorf("usage is not one: %w: %s", err, wire.Snippet(raw))
	}
	return nil
}

func (a *assembly) say(kind, text string) {
	if kind == "text" && text != "" && a.onText != nil {
		a.onText(text)
	}
}

// addDelta adds a piece to its block. Whatever its kind, its texts go behind those of the block.
func (a *assembly) addDelta(b *block, delta fields) error {
	switch kind := text(delta["type"]); kind {
	case "":
		return fmt.Errorf("a piece does not say what it is: %s", wire.Snippet(wire.Encoded(delta)))
	case "input_json_delta":
		var piece string
		if err := json.Unmarshal(delta["partial_json"], &piece); err != nil {
			return fmt.Errorf("partial_json is no text: %s", wire.Snippet(wire.Encoded(delta)))
		}
		b.input.WriteString(piece)
	case "citations_delta":
		var known []json.RawMessage
		_ = json.Unmarshal(b.fields["citations"], &known) // null to begin with
		b.fields["citations"] = wire.Encoded(append(known, delta["citation"]))
	default:
		for name, value := range delta {
			var piece string
			if name == "type" || json.Unmarshal(value, &piece) != nil {
				continue
			}
			b.fields[name] = wire.Encoded(text(b.fields[name]) + piece)
			a.say(name, piece)
		}
	}
	return nil
}

// Reply is the answer.
func (a *assembly) Reply(from string) (*agent.Reply, error) {
	m := agent.Message{Role: agent.Assistant, From: from}
	var kept []fields
	for _, i := range slices.Sorted(maps.Keys(a.blocks)) {
		b := a.blocks[i]
		switch text(b.fields["type"]) {
		case "text":
			if m.Text += text(b.fields["text"]); text(b.fields["text"]) == "" {
				continue // the protocol does not take it back
			}
		case "tool_use":
			call := agent.Call{ID: text(b.fields["id"]), Tool: text(b.fields["name"]), Arguments: b.arguments()}
			if call.ID == "" || call.Tool == "" {
				return nil, fmt.Errorf("a call has no id or no name: %s", wire.Snippet(wire.Encoded(b.fields)))
			}
			b.fields["input"] = object(call.Arguments)
			m.Calls = append(m.Calls, call)
		default:
			if b.input.Len() > 0 {
				b.fields["input"] = object(b.arguments())
			}
		}
		kept = append(kept, b.fields)
	}
	if len(m.Calls) > 0 || m.Text != "" {
		m.Extra = wire.Encoded(kept)
	}
	r := &agent.Reply{Message: m, Stop: agent.Ended, Usage: agent.Usage{Input: int64(a.usage.Input),
		CacheRead: int64(a.usage.CacheRead), CacheWrite: int64(a.usage.CacheWrite), Output: int64(a.usage.Output)}}
	switch a.reason {
	case "max_tokens", "model_context_window_exceeded":
		r.Stop = agent.Length
	case "refusal":
		r.Stop = agent.Refused
	}
	return r, nil
}

// arguments are those of a call, or what the model wrote instead, as a text.
func (b *block) arguments() json.RawMessage {
	switch pieces := strings.TrimSpace(b.input.String()); {
	case pieces == "" && len(b.fields["input"]) > 0:
		return b.fields["input"]
	case pieces == "":
		return json.RawMessage("{}")
	case json.Valid([]byte(pieces)):
		return json.RawMessage(pieces)
	default:
		return wire.Encoded(pieces)
	}
}

// text is a field that is a text, and empty if it is none.
func text(raw json.RawMessage) string {
	var s string
	_ = json.Unmarshal(raw, &s)
	return s
}
