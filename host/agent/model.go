// Package agent is the loop between a language model and the tools of a session: the model is asked, the calls that it
// makes are made in the order given, their results are handed back, and so on until it has nothing more to call.
//
// A [Model] is asked by one method; the packages below speak a protocol each. Tools are reached through [Tools] alone,
// which a *session.Session is, so that every call is decided on and recorded there. What a conversation consists of is
// kept in a [Transcript], a file of JSON lines. A [Team] offers tools by which an agent gives work to others.
//
// The package must not know policies, configuration files, nor how a call is made: it takes plain options.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
)

// Model is a language model behind some protocol. It may be used concurrently.
type Model interface {
	// Generate asks for the next message. onText is given the text as it comes, and may be nil. Where the model could
	// not be reached or has refused, the error is a *[ModelError]; it never has a key in it.
	//
	// A provider that runs a loop of its own, whose calls reach the tools by another way, returns a reply without calls.
	Generate(ctx context.Context, r Request, onText func(string)) (*Reply, error)
}

// Request is what a model is asked.
type Request struct {
	System    string
	Messages  []Message // from the oldest on; the last one is the user's or a tool's
	Tools     []Tool    // those that may be called, and no others; empty where none may
	MaxTokens int       // of the answer

	// The rest is for providers that run a loop of their own.

	Session string      // the key of the conversation; empty if it is not kept
	Left    Left        // what the turn may still use
	Observe func(Event) // is told of calls that the provider's loop makes; may be nil
}

// Left is what a turn may still use. A zero is no bound.
type Left struct {
	Iterations int // requests to the model
	Calls      int
	Tokens     int64
	CostUSD    float64
}

// Role says whose a message is.
type Role string

// The roles.
const (
	User       Role = "user"
	Assistant  Role = "assistant"
	ToolResult Role = "tool"
)

// Message is one message of a conversation, as it is sent to models and kept.
type Message struct {
	Role Role   `json:"role"`
	Text string `json:"text,omitempty"`

	Calls []Call `json:"calls,omitempty"` // of an assistant's message, in the order in which they are to be made

	CallID string `json:"call_id,omitempty"` // of a tool's result: which call it answers
	Failed bool   `json:"failed,omitempty"`  // the call failed

	// Extra is what came with an assistant's message and has to be sent back as it came, such as signed thinking. Only
	// the provider that From names can read it, and the others leave it out.
	Extra json.RawMessage `json:"extra,omitempty"`
	From  string          `json:"from,omitempty"`
}

// Call is a tool call that a model makes.
type Call struct {
	ID        string          `json:"id"` // unique in its message
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`       // a JSON object, or what the model wrote instead, as a JSON string
	Extra     json.RawMessage `json:"extra,omitempty"` // as that of its message
}

// Tool is a tool as a model is told of it.
type Tool struct {
	Name   string // letters, digits, '_' and '-', at most 64
	Doc    string
	Schema json.RawMessage // of its arguments, an object
}

// Reply is a model's answer.
type Reply struct {
	Message Message
	Usage   Usage
	Stop    Stop
}

// Stop says why an answer ended.
type Stop string

// The reasons.
const (
	Ended   Stop = "ended"   // with text or calls: the model had no more to say
	Length  Stop = "length"  // at the bound of its tokens
	Refused Stop = "refused" // by the model's provider
)

// Usage is what an answer has used. Providers leave it zero where they are not told.
type Usage struct {
	Input      int64 `json:"input,omitempty"`       // tokens that were read, without the two below
	CacheRead  int64 `json:"cache_read,omitempty"`  // tokens that were read from the provider's cache
	CacheWrite int64 `json:"cache_write,omitempty"` // tokens that were read and put into it
	Output     int64 `json:"output,omitempty"`      // tokens that were written

	CostUSD float64 `json:"cost_usd,omitempty"` // where the provider tells it
	Calls   int     `json:"calls,omitempty"`    // those that a provider's own loop has made

	Estimated bool `json:"estimated,omitempty"` // from the lengths of texts, where the provider has not told
}

// Tokens is the sum of all tokens.
func (u Usage) Tokens() int64 { return sum(u.Input, u.CacheRead, u.CacheWrite, u.Output) }

// Add returns the sum of two usages.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Input: sum(u.Input, o.Input), CacheRead: sum(u.CacheRead, o.CacheRead), CacheWrite: sum(u.CacheWrite, o.CacheWrite),
		Output: sum(u.Output, o.Output), CostUSD: u.CostUSD + o.CostUSD, Calls: u.Calls + o.Calls,
		Estimated: u.Estimated || o.Estimated,
	}
}

// sum adds counts. It stops at the largest number, and takes negative ones for 0: providers report what they like.
func sum(counts ...int64) (total int64) {
	for _, n := range counts {
		total += min(max(n, 0), math.MaxInt64-total)
	}
	return total
}

// Count is a number of tokens in a provider's JSON: a number or a numeric string of any size. It is read as the nearest
// count there is.
type Count int64

// UnmarshalJSON reads a count.
func (c *Count) UnmarshalJSON(data []byte) error {
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
	*c = Count(max(n, 0))
	return nil
}

// Endpoint says which model is asked over HTTP, and where. Nothing is taken from the environment.
type Endpoint struct {
	Model   string
	BaseURL string            // empty for that of the protocol's author
	Key     string            // empty for servers that want none
	Headers map[string]string // besides
	// Body is added to each request, in place of what it has, such as "reasoning_effort": "low". Nil takes away.
	Body   map[string]any
	Client *http.Client // nil for Go's own; redirections are not followed
}

// ModelError says that a model has not answered.
type ModelError struct {
	Message    string        // what happened, as a sentence that names the model
	Status     int           // of HTTP; 0 if there was no answer, or one that broke off
	RetryAfter time.Duration // how long the provider asks to wait; 0 if it does not say
	TooLong    bool          // the conversation is larger than the model's context window
	Err        error         // the cause, if there is one
}

func (e *ModelError) Error() string { return e.Message }

// Unwrap returns the cause.
func (e *ModelError) Unwrap() error { return e.Err }

// Temporary reports whether the same request may well be answered later: too many requests, a server's fault, or a
// connection that broke off.
func (e *ModelError) Temporary() bool {
	return !e.TooLong && (e.Status == 0 || e.Status == 408 || e.Status == 429 || e.Status >= 500)
}

// temporary reports whether it is worth asking a model again, and after how long at least.
func temporary(err error) (wait time.Duration, again bool) {
	var failed *ModelError
	if !errors.As(err, &failed) || !failed.Temporary() {
		return 0, false
	}
	return failed.RetryAfter, true
}

// tooLong reports whether a conversation has to be cut before a model can be asked again.
func tooLong(err error) bool {
	var failed *ModelError
	return errors.As(err, &failed) && failed.TooLong
}

// EventKind says what an [Event] tells.
type EventKind string

// The kinds of events.
const (
	TextEvent   EventKind = "text"   // a piece of the model's text
	CallEvent   EventKind = "call"   // a call begins
	OutputEvent EventKind = "output" // what a call has to tell before its result
	ResultEvent EventKind = "result" // a call has ended
	NoticeEvent EventKind = "notice" // what the loop does by itself
)

// NoticeKind says what a notice is about.
type NoticeKind string

// The kinds of notices.
const (
	RetryNotice   NoticeKind = "retry"   // the model is asked again; the text since the last call is void
	ContextNotice NoticeKind = "context" // older messages were summarised, or cut
	BudgetNotice  NoticeKind = "budget"  // the turn ends at a bound
	RepairNotice  NoticeKind = "repair"  // the transcript was not whole
	ChildNotice   NoticeKind = "child"   // a subagent has ended
	LengthNotice  NoticeKind = "length"  // the model's answer was cut off
	EmptyNotice   NoticeKind = "empty"   // the model has answered with nothing
)

// Event is something that happens in a turn. Events come in order, one at a time.
type Event struct {
	Kind   EventKind
	Text   string          // of a text or a notice
	Notice NoticeKind      // of a notice
	Call   *Call           // of a call, its output and its result; Tool is the name that the host knows
	Output *session.Event  // of an output
	Result *session.Result // of a result
}
