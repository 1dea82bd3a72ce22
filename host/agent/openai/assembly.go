package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	text     strings.Builder
	extra    fields
	calls    []*call
	numbered map[int]*call // by the server's index
	usage    agent.Usage
	stop     agent.Stop
	finished bool // the server has said that the answer is whole
}

// call is a tool call that is put together.
type call struct {
	id, name  string
	arguments strings.Builder
	extra     fields
}

func newAssembly(onText func(string)) *assembly {
	if onText == nil {
		onText = func(string) {}
	}
	return &assembly{onText: onText, extra: fields{}, numbered: map[int]*call{}, stop: agent.Ended}
}

// Whole reports whether the server has said why the answer ends.
func (a *assembly) Whole() bool { return a.finished }

// Add adds a piece.
func (a *assembly) Add(data []byte) (last bool, err error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return true, nil
	}
	return false, a.addChunk(data)
}

func (a *assembly) addChunk(data []byte) error {
	var chunk struct {
		Choices json.RawMessage
		Usage   json.RawMessage
		Error   json.RawMessage
	}
	if err := json.Unmarshal(data, &chunk); err != nil {
		return fmt.Errorf("a piece of it is no JSON object: %w: %s", err, wire.Snippet(data))
	}
	if present(chunk.Error) {
		return wire.Told(chunk.Error)
	}
	if present(chunk.Usage) {
		a.addUsage(chunk.Usage)
	}
	var choices []struct {
		Index        int
		Delta        json.RawMessage
		Message      json.RawMessage // of a server that does not stream
		FinishReason *string         `json:"finish_reason"`
	}
	if present(chunk.Choices) {
		if err := json.Unmarshal(chunk.Choices, &choices); err != nil {
			return fmt.Errorf("choices is not a list of choices: %w: %s", err, wire.Snippet(chunk.Choices))
		}
	}
	for _, c := range choices {
		if c.Index != 0 {
			continue // one answer was asked for
		}
		for _, delta := range []json.RawMessage{c.Delta, c.Message} {
			if err := a.addDelta(delta); err != nil {
				return err
			}
		}
		if c.FinishReason != nil && *c.FinishReason != "" {
			a.finish(*c.FinishReason)
		}
	}
	return nil
}

func (a *assembly) finish(reason string) {
	a.finished = true
	switch reason {
	case "length":
		a.stop = agent.Length
	case "content_filter":
		a.stop = agent.Refused
	}
}

func (a *assembly) addUsage(raw json.RawMessage) {
	var u struct {
		Prompt     agent.Count `json:"prompt_tokens"`
		Completion agent.Count `json:"completion_tokens"`
		Details    struct {
			Cached agent.Count `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return // as if there were none
	}
	cached := min(u.Details.Cached, u.Prompt)
	a.usage = agent.Usage{Input: int64(u.Prompt - cached), CacheRead: int64(cached), Output: int64(u.Completion)}
}

// The fields that are not kept as they came: those that are read here, and those that servers do not take back.
var (
	readOfMessages = []string{"role", "content", "tool_calls", "refusal", "annotations", "audio", "function_call"}
	readOfCalls    = []string{"index", "id", "type", "function"}
)

func (a *assembly) addDelta(raw json.RawMessage) error {
	if !present(raw) {
		return nil
	}
	var delta fields
	if err := json.Unmarshal(raw, &delta); err != nil {
		return fmt.Errorf("delta is no object: %s", wire.Snippet(raw))
	}
	text, err := content(delta["content"])
	if err != nil {
		return err
	}
	if text == "" && present(delta["refusal"]) {
		if json.Unmarshal(delta["refusal"], &text) == nil && text != "" {
			a.stop = agent.Refused
		}
	}
	if text != "" {
		a.text.WriteString(text)
		a.onText(text)
	}
	if calls := delta["tool_calls"]; present(calls) {
		var all []json.RawMessage
		if err := json.Unmarshal(calls, &all); err != nil {
			return fmt.Errorf("tool_calls is no list: %s", wire.Snippet(calls))
		}
		for _, c := range all {
			if err := a.addCall(c); err != nil {
				return err
			}
		}
	}
	for name, value := range delta {
		if present(value) && !slices.Contains(readOfMessages, name) {
			a.extra[name] = joined(a.extra[name], value)
		}
	}
	return nil
}

// content is the text of a message: a string, or a list of parts of which some are text.
func content(raw json.RawMessage) (string, error) {
	if !present(raw) {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return "", fmt.Errorf("content is neither a text nor a list of parts: %s", wire.Snippet(raw))
	}
	for _, p := range parts {
		if p.Type == "text" {
			text += p.Text
		}
	}
	return text, nil
}

// addCall adds a piece of a call. Which call it belongs to is found by what is there, since servers leave out the
// index, or the id, or give several calls the same.
func (a *assembly) addCall(raw json.RawMessage) error {
	var piece struct {
		Index    *int
		ID       string
		Function struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &piece); err != nil {
		return fmt.Errorf("a tool call is not one: %w: %s", err, wire.Snippet(raw))
	}
	name := piece.Function.Name
	arguments, err := argumentText(piece.Function.Arguments)
	if err != nil {
		return err
	}
	c := a.find(piece.Index, piece.ID, name)
	if c == nil || c.isOther(piece.ID, name, arguments) {
		if name == "" && piece.ID == "" && c == nil {
			return fmt.Errorf("a piece of a tool call belongs to none: %s", wire.Snippet(raw))
		}
		c = &call{extra: fields{}}
		a.calls = append(a.calls, c)
	}
	if piece.Index != nil {
		a.numbered[*piece.Index] = c
	}
	if c.id == "" {
		c.id = piece.ID
	}
	if c.name != name {
		c.name += name
	}
	c.arguments.WriteString(arguments)
	var extra fields
	if err := json.Unmarshal(raw, &extra); err != nil {
		return err
	}
	for name, value := range extra {
		if present(value) && !slices.Contains(readOfCalls, name) {
			c.extra[name] = value
		}
	}
	return nil
}

// find returns the call that a piece belongs to, unless it begins another: the one with its index, or with its id, or
// the last one.
func (a *assembly) find(index *int, id, name string) *call {
	if index != nil {
		return a.numbered[*index]
	}
	if id != "" {
		if i := slices.IndexFunc(a.calls, func(c *call) bool { return c.id == id }); i >= 0 {
			return a.calls[i]
		}
	}
	if len(a.calls) == 0 {
		return nil
	}
	if last := a.calls[len(a.calls)-1]; id == "" || last.id == "" && name == "" {
		return last
	}
	return nil
}

// isOther reports whether a piece begins another call than c, which it seems to belong to.
func (c *call) isOther(id, name, arguments string) bool {
	switch {
	case name == "" || c.name == "":
		return false
	case id != "" && c.id != "" && id != c.id:
		return true
	case c.arguments.Len() == 0:
		return id == "" && name != c.name && arguments != ""
	default:
		return json.Valid([]byte(c.arguments.String())) && (arguments != "" || name != c.name)
	}
}

// argumentText is the text of arguments, or of a piece of it. Some servers send the object itself.
func argumentText(raw json.RawMessage) (string, error) {
	if !present(raw) {
		return "", nil
	}
	var text string
	switch raw[0] {
	case '"':
		err := json.Unmarshal(raw, &text)
		return text, err
	case '{':
		return string(raw), nil
	}
	return "", fmt.Errorf("the arguments of a tool call are neither a text nor an object: %s", wire.Snippet(raw))
}

// Reply is the answer.
func (a *assembly) Reply(from string) (*agent.Reply, error) {
	m := agent.Message{Role: agent.Assistant, Text: a.text.String(), From: from, Extra: kept(a.extra)}
	for _, c := range a.calls {
		if c.name == "" {
			return nil, errors.New("a tool call has no name")
		}
		one := agent.Call{ID: c.id, Tool: c.name, Extra: kept(c.extra)}
		switch text := strings.TrimSpace(c.arguments.String()); {
		case text == "":
			one.Arguments = json.RawMessage("{}")
		case json.Valid([]byte(text)):
			one.Arguments = json.RawMessage(text)
		default:
			one.Arguments = wire.Encoded(text)
		}
		m.Calls = append(m.Calls, one)
	}
	return &agent.Reply{Message: m, Usage: a.usage, Stop: a.stop}, nil
}

// joined adds a piece of a field to what there is of it: texts and lists grow, and of anything else the last counts.
func joined(a, b json.RawMessage) json.RawMessage {
	var texts [2]string
	if json.Unmarshal(a, &texts[0]) == nil && json.Unmarshal(b, &texts[1]) == nil {
		return wire.Encoded(texts[0] + texts[1])
	}
	var lists [2][]json.RawMessage
	if json.Unmarshal(a, &lists[0]) == nil && json.Unmarshal(b, &lists[1]) == nil {
		return wire.Encoded(append(lists[0], lists[1]...))
	}
	return b
}

// present reports whether a field is there and not null.
func present(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// kept are fields as JSON; nil if there are none.
func kept(f fields) json.RawMessage {
	if len(f) == 0 {
		return nil
	}
	return wire.Encoded(f)
}
