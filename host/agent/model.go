// Package agent implements the loop between a language model and the tools of a session: it sends messages to the
// model, makes the requested calls in order, returns their results, and repeats until the model makes no more calls.
//
// A [Model] speaks one protocol; the subpackages implement it. Tools are reached only through [ToolCaller], implemented
// by *session.Session, so every call is checked and logged there. A [Transcript] stores the conversation in a file of
// JSON lines. A [Team] offers tools with which an agent delegates work.
//
// The package must not know policies, configuration files, or how a call is made: it takes plain options.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
)

// Model is a language model. It is safe for concurrent use.
type Model interface {
	// Generate requests the next message. onText receives the text as it arrives, and may be nil. If the model could
	// not be reached or refused, the error is a *[ModelError]; errors never contain a key.
	//
	// A provider with its own loop, which calls tools in another way, returns a reply without calls.
	Generate(ctx context.Context, r ModelRequest, onText func(string)) (*ModelReply, error)
}

// ModelRequest is a request to a model.
type ModelRequest struct {
	System    string
	Messages  []Message  // oldest first; the last one is the user's or a tool result
	Tools     []ToolSpec // the only tools it may call
	MaxTokens int        // of the answer

	// For providers with their own loop:

	Remaining RemainingBudget // what the turn may still use
	Observe   func(TurnEvent) // receives calls of the provider's loop; may be nil
}

// RemainingBudget is the remaining budget of a turn. Zero means no limit.
type RemainingBudget struct {
	Iterations int // requests to the model
	Calls      int
	Tokens     int64
	CostUSD    float64
}

// MessageRole is the author of a message.
type MessageRole string

// The authors of messages.
const (
	User       MessageRole = "user"
	Assistant  MessageRole = "assistant"
	ToolResult MessageRole = "tool"
)

// Message is one message of a conversation, as sent to models and stored.
type Message struct {
	Role MessageRole `json:"role"`
	Text string      `json:"text,omitempty"`

	Calls []ToolCall `json:"calls,omitempty"` // of the assistant, in order

	CallID string `json:"call_id,omitempty"` // the call a tool result answers
	Failed bool   `json:"failed,omitempty"`  // the call failed

	// Extra is provider data that must be sent back unchanged, such as signed thinking. Only the provider named by From
	// can read it; others drop it.
	Extra json.RawMessage `json:"extra,omitempty"`
	From  string          `json:"from,omitempty"`
}

// ToolCall is a tool call requested by a model.
type ToolCall struct {
	ID        string          `json:"id"` // unique in its message
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`       // a JSON object, or a JSON string with the model's invalid text
	Extra     json.RawMessage `json:"extra,omitempty"` // as in Message
}

// ToolSpec describes a tool to a model.
type ToolSpec struct {
	Name   string // letters, digits, '_' and '-', at most 64
	Doc    string
	Schema json.RawMessage // of its arguments, an object
}

// ModelReply is a model's reply to a request.
type ModelReply struct {
	Message Message
	Usage   TokenUsage
	Stop    StopReason
}

// StopReason is the reason why a model ended its reply.
type StopReason string

// The reasons.
const (
	StopEnded   StopReason = "ended"   // complete
	StopLength  StopReason = "length"  // token limit reached
	StopRefused StopReason = "refused" // by the provider
)

// TokenUsage is the token usage of a reply; zero if the provider does not report it.
type TokenUsage struct {
	Input      int64 `json:"input,omitempty"`       // tokens read, without cached ones
	CacheRead  int64 `json:"cache_read,omitempty"`  // tokens read from the provider's cache
	CacheWrite int64 `json:"cache_write,omitempty"` // tokens written to it
	Output     int64 `json:"output,omitempty"`      // tokens generated

	CostUSD float64 `json:"cost_usd,omitempty"` // if the provider reports it
	Calls   int     `json:"calls,omitempty"`    // made by the provider's own loop

	Estimated bool `json:"estimated,omitempty"` // from text lengths, if the provider reports nothing
}

// TotalTokens returns the sum of all tokens.
func (u TokenUsage) TotalTokens() int64 {
	return sumCounts(u.Input, u.CacheRead, u.CacheWrite, u.Output)
}

// Add returns the sum of two usages.
func (u TokenUsage) Add(o TokenUsage) TokenUsage {
	return TokenUsage{
		Input: sumCounts(u.Input, o.Input), CacheRead: sumCounts(u.CacheRead, o.CacheRead), CacheWrite: sumCounts(u.CacheWrite, o.CacheWrite),
		Output: sumCounts(u.Output, o.Output), CostUSD: u.CostUSD + o.CostUSD, Calls: u.Calls + o.Calls,
		Estimated: u.Estimated || o.Estimated,
	}
}

// sumCounts adds token counts without overflow. Negative counts, which providers may report, count as 0.
func sumCounts(counts ...int64) (total int64) {
	for _, n := range counts {
		total += min(max(n, 0), math.MaxInt64-total)
	}
	return total
}

// TokenCount is a token count in a provider's JSON: a number or a numeric string of any size, clamped to int64.
type TokenCount int64

// UnmarshalJSON parses a count.
func (c *TokenCount) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	if text == "null" {
		return nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		f, err := strconv.ParseFloat(text, 64)
		switch {
		case err != nil && !errors.Is(err, strconv.ErrRange):
			return fmt.Errorf("%s is no count", data)
		case f >= math.MaxInt64:
			n = math.MaxInt64
		case f > 0:
			n = int64(f)
		default:
			n = 0
		}
	}
	*c = TokenCount(max(n, 0))
	return nil
}

// ModelEndpoint describes how to reach a model over HTTP. Environment variables have no effect on it.
type ModelEndpoint struct {
	Model   string
	BaseURL string            // empty for the protocol's default
	Key     string            // empty if the server needs none
	Headers map[string]string // extra headers
	// Body is merged into each request, for example "reasoning_effort": "low". Nil values remove fields.
	Body map[string]any
}

// ModelError means that a model returned no reply.
type ModelError struct {
	Message    string        // a sentence that names the model
	Status     int           // HTTP status; 0 without a complete answer
	RetryAfter time.Duration // requested by the provider; 0 for none
	TooLong    bool          // the conversation exceeds the model's context window
}

func (e *ModelError) Error() string { return e.Message }

// IsTemporary reports whether a retry may succeed, as after a rate limit, a server error, or a broken connection.
func (e *ModelError) IsTemporary() bool {
	return !e.TooLong && (e.Status == 0 || e.Status == 408 || e.Status == 429 || e.Status >= 500)
}

// retryDelay returns the minimum delay before a retry, and whether a retry makes sense.
func retryDelay(err error) (wait time.Duration, again bool) {
	var failed *ModelError
	if !errors.As(err, &failed) || !failed.IsTemporary() {
		return 0, false
	}
	return failed.RetryAfter, true
}

// EventKind is the kind of a [TurnEvent].
type EventKind string

// The kinds of events.
const (
	TextEvent   EventKind = "text"   // piece of the model's text
	CallEvent   EventKind = "call"   // a call begins
	OutputEvent EventKind = "output" // output of a running call
	ResultEvent EventKind = "result" // a call has ended
	NoticeEvent EventKind = "notice" // action of the loop itself
)

// NoticeKind is the kind of a notice.
type NoticeKind string

// The kinds of notices.
const (
	RetryNotice   NoticeKind = "retry"   // the request is retried; discard the text since the last call
	ContextNotice NoticeKind = "context" // older messages were summarised or cut
	BudgetNotice  NoticeKind = "budget"  // the turn reached a limit
	RepairNotice  NoticeKind = "repair"  // the transcript was incomplete
	ChildNotice   NoticeKind = "child"   // a subagent ended
	LengthNotice  NoticeKind = "length"  // the answer was cut off
	EmptyNotice   NoticeKind = "empty"   // the model answered with nothing
)

// TurnEvent is something that happens in a turn. Events are sent in order, one at a time.
type TurnEvent struct {
	Kind   EventKind
	Text   string             // of a text or a notice
	Notice NoticeKind         // of a notice
	Call   *ToolCall          // of a call, its output and its result; Tool is the host's name
	Output *session.CallEvent // of an output
	Result *session.Result    // of a result
}
