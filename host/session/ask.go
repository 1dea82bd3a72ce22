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
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/internal/pausable"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// ApprovalQuestion describes a call that needs a person's approval.
type ApprovalQuestion struct {
	Tool     string         // full name
	Args     map[string]any // as passed to the tool
	Decision guard.Decision // why approval is needed
}

// ApprovalAsker asks a person to approve a call, waits for the answer, and reports whether the person approved. It
// returns false when the context ends.
type ApprovalAsker func(context.Context, ApprovalQuestion) bool

// ElicitationForm is a form that a tool asks a person to fill in, or another MCP question of a tool, such as a sampling
// request. A plugin wrote the text, so the prompt must name the plugin.
type ElicitationForm struct {
	Kind    string          // empty for a form, or such as [pluginpb.SamplingQuestion]
	Name    string          // identifies the question for the client; may be empty
	Params  json.RawMessage // parameters of MCP's sampling/createMessage
	Tool    string          // full name
	Message string          // shown above the fields
	Schema  json.RawMessage // an object of strings, numbers, booleans and choices
}

// FormAnswer is the answer to an [ElicitationForm]. A form is accepted with values that fit its schema, declined, or
// cancelled. For other questions, the values are the client's result.
type FormAnswer = sdk.Answer

// Elicitor shows forms to a person and waits for the answers. It returns an error if a form can't be shown.
type Elicitor func(context.Context, []ElicitationForm) ([]FormAnswer, error)

type (
	approvalAskerKey struct{}
	elicitorKey      struct{}
)

// WithApprovalAsker returns a context whose calls ask for approval through ask. Without an asker, calls that need
// approval wait in [ApprovalQueue], or are refused.
func WithApprovalAsker(ctx context.Context, ask ApprovalAsker) context.Context {
	return context.WithValue(ctx, approvalAskerKey{}, ask)
}

// WithElicitor returns a context whose calls show forms through show. Without an Elicitor, a tool's form fails.
func WithElicitor(ctx context.Context, show Elicitor) context.Context {
	return context.WithValue(ctx, elicitorKey{}, show)
}

// ApprovalAskerOf returns the context's ApprovalAsker, or nil.
func ApprovalAskerOf(ctx context.Context) ApprovalAsker {
	ask, _ := ctx.Value(approvalAskerKey{}).(ApprovalAsker)
	return ask
}

// ElicitorOf returns the context's Elicitor, or nil.
func ElicitorOf(ctx context.Context) Elicitor {
	show, _ := ctx.Value(elicitorKey{}).(Elicitor)
	return show
}

// maxFormBytes limits the size of a form shown to a person.
const maxFormBytes = 64 << 10

// maxQuestions limits the questions in one request of a tool.
const maxQuestions = 16

// newElicitationHandler returns a function that asks a person a tool's questions, or nil without an Elicitor. The
// timeout of the call, which is the deadline of ctx, is paused while the person answers.
func (s *Session) newElicitationHandler(ctx context.Context, t *catalog.Tool) func(*pluginpb.Question) *pluginpb.Answer {
	show := ElicitorOf(ctx)
	if show == nil {
		return nil
	}
	return func(q *pluginpb.Question) *pluginpb.Answer {
		forms, err := s.toElicitationForms(t, append([]*pluginpb.Question{q}, q.GetAlso()...))
		if err != nil {
			return &pluginpb.Answer{Error: err.Error()}
		}
		defer pausable.Pause(ctx)()
		defer quota.PauseSlot(ctx)()
		filled, err := show(ctx, forms)
		if err == nil && len(filled) != len(forms) {
			err = fmt.Errorf("%d of %d questions were answered", len(filled), len(forms))
		}
		if err != nil {
			return &pluginpb.Answer{Error: err.Error()}
		}
		answer := &pluginpb.Answer{Action: filled[0].Action, Content: filled[0].Values}
		for _, a := range filled[1:] {
			answer.Also = append(answer.Also, &pluginpb.Answer{Action: a.Action, Content: a.Values})
		}
		return answer
	}
}

// toElicitationForms checks a tool's questions and converts them to forms.
func (s *Session) toElicitationForms(t *catalog.Tool, questions []*pluginpb.Question) ([]ElicitationForm, error) {
	if len(questions) > maxQuestions {
		return nil, fmt.Errorf("a tool may ask at most %d questions at once", maxQuestions)
	}
	var forms []ElicitationForm
	for _, q := range questions {
		if size := len(q.GetMessage()) + len(q.GetSchema()) + len(q.GetParams()); size > maxFormBytes {
			return nil, fmt.Errorf("the form is %d bytes long; at most %d can be shown", size, maxFormBytes)
		}
		if q.GetKind() != "" && !s.policy.AllowsSampling(t.Plugin.Manifest.ID, t.Spec.Name) {
			return nil, fmt.Errorf("requests to the client's model or for its roots are not enabled; add %q to tools.sampling",
				t.Plugin.Manifest.ID+"."+t.Spec.Name)
		}
		forms = append(forms, ElicitationForm{Kind: q.GetKind(), Name: q.GetName(), Params: q.GetParams(), Tool: t.FullName(),
			Message: q.GetMessage(), Schema: q.GetSchema()})
	}
	return forms, nil
}

// ApprovalQueue holds calls until a person approves or denies them, for clients that can't ask a person themselves.
type ApprovalQueue interface {
	// MustHoldCallsOf reports whether calls of an origin are held for approval.
	MustHoldCallsOf(Origin) bool
	// WaitForApproval blocks until a call is approved or denied. It returns nil without an error on a timeout.
	WaitForApproval(context.Context, *Session, approvals.Call) (*approvals.Answer, error)
}

// canWaitForApproval reports whether [ApprovalQueue] holds this session's calls if the client can't ask.
func (s *Session) canWaitForApproval() bool {
	return s.host.options.Approvals != nil && s.host.options.Approvals.MustHoldCallsOf(s.origin)
}

// approvalResult is the outcome of an approval request.
type approvalResult struct {
	allowed  bool
	reason   string          // why the call is refused, if a person should have been asked
	approval *audit.Approval // the person's answer; nil for none
}

// waitProgressInterval is how often a waiting call sends progress. Clients abort calls that send nothing.
const waitProgressInterval = 5 * time.Second

// requestApprovalWithProgress calls requestApproval and sends a progress event every waitProgressInterval.
func (s *Session) requestApprovalWithProgress(ctx context.Context, q ApprovalQuestion, events func(CallEvent)) approvalResult {
	if ApprovalAskerOf(ctx) != nil || events == nil || q.Decision.Verdict != guard.Ask || !s.canWaitForApproval() {
		return s.requestApproval(ctx, q)
	}
	done := make(chan approvalResult, 1)
	go func() { done <- s.requestApproval(ctx, q) }()
	began, tick := time.Now(), time.NewTicker(waitProgressInterval)
	defer tick.Stop()
	for {
		// Progress values must increase, and the tool's own must be higher than these.
		events(CallEvent{Done: time.Since(began).Seconds() / 1e6, Message: "waiting for approval: `picoclaw approvals`"})
		select {
		case c := <-done:
			return c
		case <-tick.C:
		}
	}
}

// requestApproval reports whether a call may proceed. It returns the decision's verdict for allow and deny. For ask, it
// asks the client's person or waits for an approval request.
func (s *Session) requestApproval(ctx context.Context, q ApprovalQuestion) approvalResult {
	if q.Decision.Verdict != guard.Ask {
		return approvalResult{allowed: q.Decision.Verdict == guard.Allow}
	}
	ctx, endTrace := s.traceStep(ctx, Asking)
	defer endTrace(nil)
	if ask := ApprovalAskerOf(ctx); ask != nil {
		return approvalResult{allowed: ask(ctx, q), approval: &audit.Approval{Way: "client", Time: time.Now().UTC()},
			reason: "a person was asked and did not approve; try another way, or ask which call they would approve"}
	}
	const client = "use a client that can ask a person (MCP elicitation)"
	if !s.canWaitForApproval() {
		return approvalResult{reason: joinHints(q.Decision.Hint, "or "+client)}
	}
	arguments, err := jsonv2.Marshal(q.Args, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return approvalResult{reason: joinHints(q.Decision.Hint, err.Error())}
	}
	defer pausable.Pause(ctx)()
	began := time.Now()
	a, err := s.host.options.Approvals.WaitForApproval(ctx, s, approvals.Call{
		Tool: q.Tool, Arguments: arguments, Agent: s.policy.AgentID(), Session: s.id, Origin: string(s.origin),
		Rule: q.Decision.Rule, Reason: q.Decision.Reason, Setting: q.Decision.Setting,
	})
	switch waited := time.Since(began).Round(time.Second); {
	case err != nil:
		return approvalResult{reason: joinHints(q.Decision.Hint, "no person could be asked: "+err.Error())}
	case a == nil:
		return approvalResult{reason: joinHints(q.Decision.Hint, fmt.Sprintf("no answer within %s; call it "+
			"again when a person can answer it with `picoclaw approvals`", waited))}
	default:
		said := fmt.Sprintf("it waited %s, and %s refused it", waited, a.By)
		if a.Why != "" {
			said += ": " + a.Why
		}
		return approvalResult{allowed: a.Yes, reason: said, approval: &audit.Approval{By: a.By, Way: a.Way, Time: a.Time}}
	}
}

func joinHints(hint, more string) string {
	return strings.TrimPrefix(strings.TrimPrefix(hint+"; "+more, "; "), "or ")
}
