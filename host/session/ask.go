package session

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/approvals"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/internal/pausable"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Question is a call that a person has to allow.
type Question struct {
	Tool     string         // full name
	Args     map[string]any // as they go to the tool
	Decision guard.Decision // why it is asked
}

// Asker puts a question to a person and reports whether the answer was yes. It may take as long as a person takes; when
// the context ends it returns false.
type Asker func(context.Context, Question) bool

// Form is what a tool asks of a person. Its words are the plugin's: whoever shows it says whose.
type Form struct {
	Tool    string          // full name
	Message string          // what it is about
	Schema  json.RawMessage // an object of strings, numbers, booleans and choices
}

// Filled is what a person has done with a form: accepted it with values that fit its schema, declined, or cancelled.
type Filled = sdk.Answer

// Former shows a form to a person, for as long as a person takes. An error says why that was not possible.
type Former func(context.Context, Form) (Filled, error)

type (
	askerKey  struct{}
	formerKey struct{}
)

// WithAsker returns a context whose calls can ask a person. Where nobody can be asked,
// what needs a yes waits for [Approvals], or is refused.
func WithAsker(ctx context.Context, ask Asker) context.Context {
	return context.WithValue(ctx, askerKey{}, ask)
}

// WithFormer returns a context whose calls can have a person fill in forms. Where nobody can, tools are told so.
func WithFormer(ctx context.Context, show Former) context.Context {
	return context.WithValue(ctx, formerKey{}, show)
}

// FormerOf returns what shows forms to the person behind a context, nil if there is nobody.
func FormerOf(ctx context.Context) Former {
	show, _ := ctx.Value(formerKey{}).(Former)
	return show
}

// maxForm is the largest form that is shown to a person, in bytes.
const maxForm = 64 << 10

// answers returns what answers a tool's questions, nil if nobody does. The time of the call, that of ctx, stands still
// while a person thinks.
func answers(ctx context.Context, tool string) func(*pluginpb.Question) *pluginpb.Answer {
	show := FormerOf(ctx)
	if show == nil {
		return nil
	}
	return func(q *pluginpb.Question) *pluginpb.Answer {
		if size := len(q.GetMessage()) + len(q.GetSchema()); size > maxForm {
			return &pluginpb.Answer{Error: fmt.Sprintf("the form is %d bytes long; at most %d can be shown", size, maxForm)}
		}
		defer pausable.Pause(ctx)()
		defer quota.Pause(ctx)()
		filled, err := show(ctx, Form{Tool: tool, Message: q.GetMessage(), Schema: q.GetSchema()})
		if err != nil {
			return &pluginpb.Answer{Error: err.Error()}
		}
		return &pluginpb.Answer{Action: filled.Action, Content: filled.Values}
	}
}

// Approvals have somebody decide on calls whose client can't ask a person.
type Approvals interface {
	// Waits reports whether calls of an origin wait at all.
	Waits(Origin) bool
	// Wait returns the answer to a call of a session; nil without an error when nobody has answered in time.
	Wait(context.Context, *Session, approvals.Call) (*approvals.Answer, error)
}

// canAsk reports whether a person can be asked.
func (s *Session) canAsk(ctx context.Context) bool {
	ask, _ := ctx.Value(askerKey{}).(Asker)
	return ask != nil || s.waits()
}

// waits reports whether the session's calls wait for an answer where the client can't ask.
func (s *Session) waits() bool { return s.host.approvals != nil && s.host.approvals.Waits(s.origin) }

// consent is what came of a decision.
type consent struct {
	allowed bool
	refused string          // how it came about that it is not, where somebody was to be asked
	by      *audit.Approval // who has answered; nil for nobody
}

// waitingInterval is how often a caller is told that its call waits: clients give up on calls that they hear nothing
// of.
const waitingInterval = 5 * time.Second

// requestCallApproval is requestApproval for a call: its caller gets a progress event every waitingInterval.
func (s *Session) requestCallApproval(ctx context.Context, q Question, events func(Event)) consent {
	if ask, _ := ctx.Value(askerKey{}).(Asker); ask != nil || events == nil || q.Decision.Verdict != guard.Ask || !s.waits() {
		return s.requestApproval(ctx, q)
	}
	done := make(chan consent, 1)
	go func() { done <- s.requestApproval(ctx, q) }()
	began, tick := time.Now(), time.NewTicker(waitingInterval)
	defer tick.Stop()
	for {
		// Progress grows, and what the tool tells later is to be more than this.
		events(Event{Done: time.Since(began).Seconds() / 1e6, Message: "waits for a person's yes, such as by `picoclaw approvals`"})
		select {
		case c := <-done:
			return c
		case <-tick.C:
		}
	}
}

// requestApproval reports whether a decision lets a call go on. For ask it asks a person: the client's, or else whoever
// answers approval requests.
func (s *Session) requestApproval(ctx context.Context, q Question) consent {
	if q.Decision.Verdict != guard.Ask {
		return consent{allowed: q.Decision.Verdict == guard.Allow}
	}
	ctx, endTrace := s.traceStep(ctx, Asking)
	defer endTrace(nil)
	if ask, _ := ctx.Value(askerKey{}).(Asker); ask != nil {
		return consent{allowed: ask(ctx, q), by: &audit.Approval{Way: "client", Time: time.Now().UTC()},
			refused: "a person was asked, and did not say yes; do it in another way, or ask what they would allow"}
	}
	const client = "use a client that can ask a person (MCP elicitation)"
	if !s.waits() {
		return consent{refused: joined(q.Decision.Hint, "or "+client)}
	}
	arguments, err := jsonv2.Marshal(q.Args, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return consent{refused: joined(q.Decision.Hint, err.Error())}
	}
	defer pausable.Pause(ctx)()
	began := time.Now()
	a, err := s.host.approvals.Wait(ctx, s, approvals.Call{
		Tool: q.Tool, Arguments: arguments, Agent: s.policy.Agent(), Session: s.id, Origin: string(s.origin),
		Rule: q.Decision.Rule, Reason: q.Decision.Reason, Setting: q.Decision.Setting,
	})
	switch waited := time.Since(began).Round(time.Second); {
	case err != nil:
		return consent{refused: joined(q.Decision.Hint, "nobody could be asked: "+err.Error())}
	case a == nil:
		return consent{refused: joined(q.Decision.Hint, fmt.Sprintf("it waited %s for a yes, and nobody answered; call it "+
			"again when somebody is there, who sees it in `picoclaw approvals`", waited))}
	default:
		said := fmt.Sprintf("it waited %s, and %s refused it", waited, a.By)
		if a.Why != "" {
			said += ": " + a.Why
		}
		return consent{allowed: a.Yes, refused: said, by: &audit.Approval{By: a.By, Way: a.Way, Time: a.Time}}
	}
}

// joined goes on from a hint.
func joined(hint, more string) string {
	return strings.TrimPrefix(strings.TrimPrefix(hint+"; "+more, "; "), "or ")
}
