package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ToolCaller lists and calls the tools of a model. A *session.Session is one.
type ToolCaller interface {
	Tools() []session.Tool
	Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.CallEvent)) *session.Result
}

// Options configure an [Agent].
type Options struct {
	Model      Model
	Tools      ToolCaller
	System     string      // system prompt
	Transcript *Transcript // nil for a new one, in memory
	Settings   Settings
	// Inbox returns new messages for the model, such as results of subagents. It is called before each request, and may
	// be nil.
	Inbox func() []string
}

// Settings limit the agent loop. Zero disables a limit; start from [DefaultSettings].
type Settings struct {
	MaxTokens     int // per answer
	MaxIterations int // requests per turn

	MaxRetries   int           // retries of a failed request, if it may succeed later
	RetryBackoff time.Duration // before the first retry; it doubles

	SummarizeMessages int // with more messages, older turns are summarised before a new turn
	SummarizePercent  int // of ContextWindow; above it, older messages are summarised
	ContextWindow     int // in tokens

	Budget Budget  // of each turn, including its subagents
	Prices *Prices // nil if unknown
}

// DefaultSettings returns the default settings.
func DefaultSettings() Settings {
	return Settings{
		MaxTokens: 32768, MaxIterations: 50,
		MaxRetries: 2, RetryBackoff: 2 * time.Second,
		SummarizeMessages: 20, SummarizePercent: 75, ContextWindow: 131072,
	}
}

// Agent is a model with tools and a conversation.
type Agent struct {
	model    Model
	tools    ToolCaller
	system   string
	settings Settings
	inbox    func() []string

	mu              sync.Mutex // held during a turn
	transcript      *Transcript
	repairsReported bool
	schemas         map[*pluginpb.Spec]json.RawMessage // of the last tool list
	bytesPerToken   float64                            // as measured from the model's token counts
}

// New returns an agent.
func New(o Options) *Agent {
	if o.Transcript == nil {
		o.Transcript = NewTranscript()
	}
	if o.Inbox == nil {
		o.Inbox = func() []string { return nil }
	}
	return &Agent{model: o.Model, tools: o.Tools, system: o.System, settings: o.Settings, inbox: o.Inbox,
		transcript: o.Transcript, bytesPerToken: defaultBytesPerToken}
}

// Outcome is the result of a turn.
type Outcome struct {
	Text       string // the model's last text
	Stop       StopReason
	Iterations int // requests to the model
	Calls      int
	Usage      Usage // including subagents
}

// RunTurn sends a text to the model and makes the calls it asks for, until it answers without calls. observe receives
// events and may be nil. Turns of one agent run one after another. If a turn fails, the outcome has what was done so
// far. The error is a *[BudgetError], a *[ModelError], or that of the context.
func (a *Agent) RunTurn(ctx context.Context, text string, observe func(Event)) (*Outcome, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, end := a.beginTurn(ctx, observe)
	defer end()
	err := t.runLoop(text)
	if cause := context.Cause(t.ctx); err != nil && cause != nil {
		err = cause
	}
	if over, ok := errors.AsType[*BudgetError](err); ok {
		t.emitNotice(BudgetNotice, "%v", over)
	}
	t.outcome.Usage, t.outcome.Calls = t.meter.totals()
	return &t.outcome, err
}

// turn is one turn of the agent loop.
type turn struct {
	*Agent
	ctx       context.Context
	meter     *usageMeter
	toolNames *toolNames
	task      string // the user's text
	outcome   Outcome

	acted    atomic.Bool    // the provider's own loop made calls
	children sync.WaitGroup // that no other code waits for

	emitMu  sync.Mutex
	observe func(Event)
}

// errTurnEnds cancels work that belongs to a finished turn.
var errTurnEnds = errors.New("the turn that it belongs to has ended")

type turnKey struct{}

// turnOf returns the turn whose loop made a call; nil if none did.
func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// beginTurn begins a turn, whose context ends with it. Its usage also counts for the outer turn.
func (a *Agent) beginTurn(ctx context.Context, observe func(Event)) (t *turn, end func()) {
	t = &turn{Agent: a, observe: observe, meter: &usageMeter{budget: a.settings.Budget, prices: a.settings.Prices}}
	if outer := turnOf(ctx); outer != nil {
		t.meter.outer = outer.meter
	}
	ctx = context.WithValue(ctx, turnKey{}, t)
	free := func() {}
	if limit := a.settings.Budget.Time; limit > 0 {
		ctx, free = context.WithTimeoutCause(ctx, limit, timeExceeded(limit))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	t.ctx = ctx
	return t, func() {
		cancel(errTurnEnds)
		free()
		t.children.Wait()
	}
}

// emitEvent passes one event at a time to the observer.
func (t *turn) emitEvent(e Event) {
	if t.observe == nil {
		return
	}
	t.emitMu.Lock()
	defer t.emitMu.Unlock()
	t.observe(e)
}

func (t *turn) emitNotice(kind NoticeKind, format string, args ...any) {
	t.emitEvent(Event{Kind: NoticeEvent, Notice: kind, Text: fmt.Sprintf(format, args...)})
}
