package agent

import (
	"cmp"
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

// ToolCaller lists and calls the tools of a model; *session.Session implements it.
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
	Settings   LoopSettings
	// Inbox returns new messages for the model, such as results of subagents. It is called before each request, and may
	// be nil.
	Inbox func() []string
}

// LoopSettings limit the agent loop. Zero disables a limit. Begin with [DefaultLoopSettings].
type LoopSettings struct {
	MaxTokens     int // per answer
	MaxIterations int // requests per turn

	MaxRetries   int           // retries of a failed request, if it may succeed later
	RetryBackoff time.Duration // before the first retry; it doubles

	SummarizeMessages int // with more messages, older turns are summarised before a new turn
	SummarizePercent  int // of ContextWindow; above it, older messages are summarised
	ContextWindow     int // in tokens

	Budget TurnBudget   // of each turn, including its subagents
	Prices *TokenPrices // nil if unknown
}

// DefaultLoopSettings returns the default settings.
func DefaultLoopSettings() LoopSettings {
	return LoopSettings{
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
	settings LoopSettings
	inbox    func() []string

	mu              sync.Mutex // held during a turn
	transcript      *Transcript
	repairsReported bool
	schemas         map[*pluginpb.ToolSpec]json.RawMessage // of the last tool list
	bytesPerToken   float64                                // as measured from the model's token counts
}

// New returns an agent.
func New(o Options) *Agent {
	o.Transcript = cmp.Or(o.Transcript, NewTranscript())
	if o.Inbox == nil {
		o.Inbox = func() []string { return nil }
	}
	return &Agent{model: o.Model, tools: o.Tools, system: o.System, settings: o.Settings, inbox: o.Inbox,
		transcript: o.Transcript, bytesPerToken: defaultBytesPerToken}
}

// TurnOutcome is the result of a turn.
type TurnOutcome struct {
	Text       string // the model's last text
	Stop       StopReason
	Iterations int // requests to the model
	Calls      int
	Usage      TokenUsage // including subagents
}

// RunTurn sends text to the model and makes the tool calls it requests, until it answers without calls. observe may be
// nil and receives events. Turns of one agent run one after another. The outcome of a failed turn has the work done so
// far. The error is a *[BudgetExceededError], a *[ModelError], or the context's.
func (a *Agent) RunTurn(ctx context.Context, text string, observe func(TurnEvent)) (*TurnOutcome, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, end := a.beginTurn(ctx, observe)
	defer end()
	err := t.runLoop(text)
	if cause := context.Cause(t.ctx); err != nil && cause != nil {
		err = cause
	}
	if over, ok := errors.AsType[*BudgetExceededError](err); ok {
		t.emitNotice(BudgetNotice, "%v", over)
	}
	t.outcome.Usage, t.outcome.Calls = t.meter.totalUsage()
	return &t.outcome, err
}

// turn is one turn of the agent loop.
type turn struct {
	*Agent
	ctx       context.Context
	meter     *usageMeter
	toolNames *offeredTools
	task      string // the user's text
	outcome   TurnOutcome

	acted    atomic.Bool    // the provider's own loop made calls
	children sync.WaitGroup // that no other code waits for

	emitMu  sync.Mutex
	observe func(TurnEvent)
}

// errTurnEnds is the cause with which a finished turn cancels its remaining work.
var errTurnEnds = errors.New("the turn that it belongs to has ended")

type turnContextKey struct{}

// turnFromContext returns the turn that made a call; nil if no turn made it.
func turnFromContext(ctx context.Context) *turn {
	t, _ := ctx.Value(turnContextKey{}).(*turn)
	return t
}

// beginTurn begins a turn. Its context ends with the turn. Its usage also counts for the turn in ctx.
func (a *Agent) beginTurn(ctx context.Context, observe func(TurnEvent)) (t *turn, end func()) {
	t = &turn{Agent: a, observe: observe, meter: &usageMeter{budget: a.settings.Budget, prices: a.settings.Prices}}
	if outer := turnFromContext(ctx); outer != nil {
		t.meter.outer = outer.meter
	}
	ctx = context.WithValue(ctx, turnContextKey{}, t)
	free := func() {}
	if limit := a.settings.Budget.Time; limit > 0 {
		ctx, free = context.WithTimeoutCause(ctx, limit, &BudgetExceededError{"minutes", timeSetting,
			fmt.Sprintf("the turn has reached its time limit of %s", limit)})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	t.ctx = ctx
	return t, func() {
		cancel(errTurnEnds)
		free()
		t.children.Wait()
	}
}

// emitEvent passes an event to the observer, one at a time.
func (t *turn) emitEvent(e TurnEvent) {
	if t.observe == nil {
		return
	}
	t.emitMu.Lock()
	defer t.emitMu.Unlock()
	t.observe(e)
}

func (t *turn) emitNotice(kind NoticeKind, format string, args ...any) {
	t.emitEvent(TurnEvent{Kind: NoticeEvent, Notice: kind, Text: fmt.Sprintf(format, args...)})
}
