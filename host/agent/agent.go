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

// Tools are what a model may call. A *session.Session is one.
type Tools interface {
	Tools() []session.Tool
	Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.Event)) *session.Result
}

// Options say what an agent works with.
type Options struct {
	Model      Model
	Tools      Tools
	System     string      // what the model is told before everything else
	Transcript *Transcript // nil for a new one, in memory
	Settings   Settings
	// Inbox returns what has come meanwhile and the model is to know, such as the results of subagents, a text each. It
	// is asked before each request, and may be nil.
	Inbox func() []string
}

// Settings bound the loop. A zero switches off what it is for; [Defaults] are to begin with.
type Settings struct {
	MaxTokens     int // of an answer
	MaxIterations int // requests in a turn

	MaxRetries   int           // of a request that failed, if it may be answered later
	RetryBackoff time.Duration // before the first of them; it doubles

	SummarizeMessages int // more messages than that, and older turns are summarised before a new one
	SummarizePercent  int // of ContextWindow; over that, older messages are summarised
	ContextWindow     int // of the model, in tokens

	Budget Budget  // of each turn, with what its subagents use
	Prices *Prices // nil if they are not known
}

// Defaults are the settings where nothing else is said.
func Defaults() Settings {
	return Settings{
		MaxTokens: 32768, MaxIterations: 50,
		MaxRetries: 2, RetryBackoff: 2 * time.Second,
		SummarizeMessages: 20, SummarizePercent: 75, ContextWindow: 131072,
	}
}

// Agent is a model with tools, and a conversation.
type Agent struct {
	model    Model
	tools    Tools
	system   string
	settings Settings
	inbox    func() []string

	mu         sync.Mutex // held during a turn
	transcript *Transcript
	repaired   bool                               // the repairs have been told
	schemas    map[*pluginpb.Spec]json.RawMessage // those of the last list of tools
	perToken   float64                            // how many bytes a token has, as the model has counted them
}

// New makes an agent.
func New(o Options) *Agent {
	if o.Transcript == nil {
		o.Transcript = NewTranscript()
	}
	if o.Inbox == nil {
		o.Inbox = func() []string { return nil }
	}
	return &Agent{model: o.Model, tools: o.Tools, system: o.System, settings: o.Settings, inbox: o.Inbox,
		transcript: o.Transcript, perToken: bytesPerToken}
}

// Outcome is what has come of a turn.
type Outcome struct {
	Text       string // the model's last words
	Stop       Stop
	Iterations int // requests to the model
	Calls      int
	Usage      Usage // with what subagents have used
}

// Turn has the model answer a text, with as many calls as that takes. observe is told what happens, and may be nil.
// Turns of one agent follow each other. Whatever ends a turn, what was done so far is kept and told in the outcome. The
// error is a *[BudgetError] at a bound, a *[ModelError] if the model has not answered, or that of the context.
func (a *Agent) Turn(ctx context.Context, text string, observe func(Event)) (*Outcome, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	t, end := a.begin(ctx, observe)
	defer end()
	err := t.run(text)
	if cause := context.Cause(t.ctx); err != nil && cause != nil {
		err = cause
	}
	if over, ok := errors.AsType[*BudgetError](err); ok {
		t.notice(BudgetNotice, "%v", over)
	}
	t.outcome.Usage, t.outcome.Calls = t.meter.used()
	return &t.outcome, err
}

// turn is one turn.
type turn struct {
	*Agent
	ctx     context.Context
	meter   *meter
	offered *offered
	task    string // what the user asks for in this turn
	outcome Outcome

	acted    atomic.Bool    // a provider's own loop has made calls
	children sync.WaitGroup // those that nobody else waits for

	emitting sync.Mutex
	observe  func(Event)
}

// errTurnEnds is the cause of the end of what a turn has begun.
var errTurnEnds = errors.New("the turn that it belongs to has ended")

type turnKey struct{}

// turnOf is the turn whose loop has made a call; nil if none has.
func turnOf(ctx context.Context) *turn {
	t, _ := ctx.Value(turnKey{}).(*turn)
	return t
}

// begin begins a turn, whose context ends with it. What it uses is used by the turn that it is a part of, too.
func (a *Agent) begin(ctx context.Context, observe func(Event)) (t *turn, end func()) {
	t = &turn{Agent: a, observe: observe, meter: &meter{budget: a.settings.Budget, prices: a.settings.Prices}}
	if outer := turnOf(ctx); outer != nil {
		t.meter.outer = outer.meter
	}
	ctx = context.WithValue(ctx, turnKey{}, t)
	free := func() {}
	if limit := a.settings.Budget.Time; limit > 0 {
		ctx, free = context.WithTimeoutCause(ctx, limit, overTime(limit))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	t.ctx = ctx
	return t, func() {
		cancel(errTurnEnds)
		free()
		t.children.Wait()
	}
}

// emit tells the observer, one event at a time.
func (t *turn) emit(e Event) {
	if t.observe == nil {
		return
	}
	t.emitting.Lock()
	defer t.emitting.Unlock()
	t.observe(e)
}

func (t *turn) notice(kind NoticeKind, format string, args ...any) {
	t.emit(Event{Kind: NoticeEvent, Notice: kind, Text: fmt.Sprintf(format, args...)})
}
