package openai

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/internal/wire"
)

// jsonFields are the fields of a JSON object.
type jsonFields = map[string]json.RawMessage

// replyAssembler builds a reply from stream chunks.
type replyAssembler struct {
	onText       func(string)
	text         strings.Builder
	extra        jsonFields
	calls        []*partialToolCall
	callsByIndex map[int]*partialToolCall // the server's index
	usage        agent.TokenUsage
	stop         agent.StopReason
	finished     bool // the server ended the answer
}

// partialToolCall is a tool call of which pieces may be missing.
type partialToolCall struct {
	id, name  string
	arguments strings.Builder
	extra     jsonFields
}

func newReplyAssembler(onText func(string)) *replyAssembler {
	if onText == nil {
		onText = func(string) {}
	}
	return &replyAssembler{onText: onText, extra: jsonFields{}, callsByIndex: map[int]*partialToolCall{}, stop: agent.StopEnded}
}

// IsComplete reports whether the server has ended the reply.
func (a *replyAssembler) IsComplete() bool { return a.finished }

// AddData adds a stream chunk.
func (a *replyAssembler) AddData(data []byte) (last bool, err error) {
	if bytes.HasPrefix(data, []byte("[DONE]")) {
		return true, nil
	}
	return false, a.addChunk(data)
}

func (a *replyAssembler) addChunk(data []byte) error {
	var chunk struct {
		Choices json.RawMessage
		Usage   json.RawMessage
		Error   json.RawMessage
	}
	if err := json.Unmarshal(data, &chunk); err != nil {
		return fmt.Errorf("a piece of it is no JSON object: %w: %s", err, wire.TextSnippet(data))
	}
	if isPresent(chunk.Error) {
		return wire.EventError(chunk.Error)
	}
	if isPresent(chunk.Usage) {
		a.addUsage(chunk.Usage)
	}
	var choices []struct {
		Index        int
		Delta        json.RawMessage
		Message      json.RawMessage // without streaming
		FinishReason *string         `json:"finish_reason"`
	}
	if isPresent(chunk.Choices) {
		if err := json.Unmarshal(chunk.Choices, &choices); err != nil {
			return fmt.Errorf("choices is not a list of choices: %w: %s", err, wire.TextSnippet(chunk.Choices))
		}
	}
	for _, c := range choices {
		if c.Index != 0 {
			continue // only one was requested
		}
		for _, delta := range []json.RawMessage{c.Delta, c.Message} {
			if err := a.addDelta(delta); err != nil {
				return err
			}
		}
		if c.FinishReason != nil && *c.FinishReason != "" {
			a.setStopReason(*c.FinishReason)
		}
	}
	return nil
}

func (a *replyAssembler) setStopReason(reason string) {
	a.finished = true
	switch reason {
	case "length":
		a.stop = agent.StopLength
	case "content_filter":
		a.stop = agent.StopRefused
	}
}

func (a *replyAssembler) addUsage(raw json.RawMessage) {
	var u struct {
		Prompt     agent.TokenCount `json:"prompt_tokens"`
		Completion agent.TokenCount `json:"completion_tokens"`
		Details    struct {
			Cached agent.TokenCount `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
	}
	if json.Unmarshal(raw, &u) != nil {
		return // ignore invalid usage
	}
	cached := min(u.Details.Cached, u.Prompt)
	a.usage = agent.TokenUsage{Input: int64(u.Prompt - cached), CacheRead: int64(cached), Output: int64(u.Completion)}
}

// Fields of a message that are not stored as extra fields: this package parses them, or servers reject them.
var (
	messageFields = []string{"role", "content", "tool_calls", "refusal", "annotations", "audio", "function_call"}
	callFields    = []string{"index", "id", "type", "function"}
)

func (a *replyAssembler) addDelta(raw json.RawMessage) error {
	if !isPresent(raw) {
		return nil
	}
	var delta jsonFields
	if err := json.Unmarshal(raw, &delta); err != nil {
		return fmt.Errorf("delta is no object: %s", wire.TextSnippet(raw))
	}
	text, err := contentText(delta["content"])
	if err != nil {
		return err
	}
	if text == "" && isPresent(delta["refusal"]) {
		if json.Unmarshal(delta["refusal"], &text) == nil && text != "" {
			a.stop = agent.StopRefused
		}
	}
	if text != "" {
		a.text.WriteString(text)
		a.onText(text)
	}
	if calls := delta["tool_calls"]; isPresent(calls) {
		var all []json.RawMessage
		if err := json.Unmarshal(calls, &all); err != nil {
			return fmt.Errorf("tool_calls is no list: %s", wire.TextSnippet(calls))
		}
		for _, c := range all {
			if err := a.addCallPiece(c); err != nil {
				return err
			}
		}
	}
	for name, value := range delta {
		if isPresent(value) && !slices.Contains(messageFields, name) {
			a.extra[name] = mergeFieldPieces(a.extra[name], value)
		}
	}
	return nil
}

// contentText returns the text of a message's content, which is a string or a list of parts.
func contentText(raw json.RawMessage) (string, error) {
	if !isPresent(raw) {
		return "", nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct{ Type, Text string }
	if json.Unmarshal(raw, &parts) != nil {
		return "", fmt.Errorf("content is neither a text nor a list of parts: %s", wire.TextSnippet(raw))
	}
	for _, p := range parts {
		if p.Type == "text" {
			text += p.Text
		}
	}
	return text, nil
}

// addCallPiece adds a piece of a tool call. Servers may omit or repeat the index and the id, so findCall guesses the
// call.
func (a *replyAssembler) addCallPiece(raw json.RawMessage) error {
	var piece struct {
		Index    *int
		ID       string
		Function struct {
			Name      string
			Arguments json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &piece); err != nil {
		return fmt.Errorf("a tool call is not one: %w: %s", err, wire.TextSnippet(raw))
	}
	name := piece.Function.Name
	arguments, err := decodeArguments(piece.Function.Arguments)
	if err != nil {
		return err
	}
	c := a.findCall(piece.Index, piece.ID, name)
	if c == nil || c.beginsOtherCall(piece.ID, name, arguments) {
		if name == "" && piece.ID == "" && c == nil {
			return fmt.Errorf("a piece of a tool call belongs to none: %s", wire.TextSnippet(raw))
		}
		c = &partialToolCall{extra: jsonFields{}}
		a.calls = append(a.calls, c)
	}
	if piece.Index != nil {
		a.callsByIndex[*piece.Index] = c
	}
	c.id = cmp.Or(c.id, piece.ID)
	if c.name != name {
		c.name += name
	}
	c.arguments.WriteString(arguments)
	var extra jsonFields
	if err := json.Unmarshal(raw, &extra); err != nil {
		return err
	}
	for name, value := range extra {
		if isPresent(value) && !slices.Contains(callFields, name) {
			c.extra[name] = value
		}
	}
	return nil
}

// findCall returns the call that a piece continues: by index, by id, or the last call; nil for a new call.
func (a *replyAssembler) findCall(index *int, id, name string) *partialToolCall {
	if index != nil {
		return a.callsByIndex[*index]
	}
	if id != "" {
		if i := slices.IndexFunc(a.calls, func(c *partialToolCall) bool { return c.id == id }); i >= 0 {
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

// beginsOtherCall reports whether a piece begins another call than c.
func (c *partialToolCall) beginsOtherCall(id, name, arguments string) bool {
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

// decodeArguments returns a piece of a call's arguments as text. Some servers send an object instead of text.
func decodeArguments(raw json.RawMessage) (string, error) {
	if !isPresent(raw) {
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
	return "", fmt.Errorf("the arguments of a tool call are neither a text nor an object: %s", wire.TextSnippet(raw))
}

// BuildReply returns the reply.
func (a *replyAssembler) BuildReply(from string) (*agent.ModelReply, error) {
	m := agent.Message{Role: agent.Assistant, Text: a.text.String(), From: from, Extra: encodeFieldMap(a.extra)}
	for _, c := range a.calls {
		if c.name == "" {
			return nil, errors.New("a tool call has no name")
		}
		m.Calls = append(m.Calls, agent.ToolCall{ID: c.id, Tool: c.name, Extra: encodeFieldMap(c.extra),
			Arguments: wire.CallArguments(c.arguments.String())})
	}
	return &agent.ModelReply{Message: m, Usage: a.usage, Stop: a.stop}, nil
}

// mergeFieldPieces merges two pieces of a field. It concatenates strings and lists; otherwise the last piece wins.
func mergeFieldPieces(a, b json.RawMessage) json.RawMessage {
	var texts [2]string
	if json.Unmarshal(a, &texts[0]) == nil && json.Unmarshal(b, &texts[1]) == nil {
		return wire.EncodeOrNil(texts[0] + texts[1])
	}
	var lists [2][]json.RawMessage
	if json.Unmarshal(a, &lists[0]) == nil && json.Unmarshal(b, &lists[1]) == nil {
		return wire.EncodeOrNil(append(lists[0], lists[1]...))
	}
	return b
}

// isPresent reports whether a field exists and is not null.
func isPresent(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

// encodeFieldMap returns fields as JSON; nil if there are none.
func encodeFieldMap(f jsonFields) json.RawMessage {
	if len(f) == 0 {
		return nil
	}
	return wire.EncodeOrNil(f)
}
