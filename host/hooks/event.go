package hooks

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/isolation"
)

// Event is what hooks are asked about or told of.
type Event string

// The events of Claude Code's that there are here.
const (
	PreToolUse       Event = "PreToolUse"
	PostToolUse      Event = "PostToolUse"
	UserPromptSubmit Event = "UserPromptSubmit"
	SessionStart     Event = "SessionStart"
	SessionEnd       Event = "SessionEnd"
	Stop             Event = "Stop"
	SubagentStop     Event = "SubagentStop"
	Notification     Event = "Notification"
)

// The events that processes alone are asked about: what goes to a model, and what comes from it.
const (
	beforeModel Event = "before_llm"
	afterModel  Event = "after_llm"
)

// gates reports whether hooks of an event can refuse something, so that one without an answer has to.
func (e Event) gates() bool {
	return e == PreToolUse || e == UserPromptSubmit || e == beforeModel || e == afterModel
}

// Occasion is something that is no call. What its event has no use for is empty.
type Occasion struct {
	Event     Event
	Prompt    string // UserPromptSubmit: what a person, or who stands for one, has said
	Source    string // SessionStart: startup or resume
	Reason    string // SessionEnd: why
	AgentType string // SubagentStop: the subagent's id
	Active    bool   // Stop, SubagentStop: a hook has kept the agent going before in this turn
	Title     string // Notification: what it is about
	Message   string // Notification
	Kind      string // Notification: such as job_ok
}

// Verdict is what hooks say together: the strictest of their answers counts. Its zero value lets things go on.
type Verdict struct {
	session.HookVerdict // for Stop and SubagentStop, Deny is why the agent is to go on

	Context string // what hooks have to tell the model
	Stop    bool   // the turn is to end, and Deny says why
}

// where is the session that hooks are asked for.
type where struct {
	session, agent string
	policy         string // its digest
	dir            string // the workspace
	transcript     string
	start          func(session.Program) (*isolation.Process, error)
}

func of(ctx context.Context, s *session.Session) where {
	return where{session: s.ID(), agent: s.Policy().Agent(), policy: s.Policy().Digest(),
		dir: s.Policy().Workspace(), transcript: turnOf(ctx).Transcript, start: s.Start}
}

// question is what one hook is asked.
type question struct {
	where
	event    Event
	call     session.HookCall
	result   *session.Result
	occasion Occasion
	model    json.RawMessage // the request or response, in the form of whoever speaks with the model
}

// answer is what one hook has said.
type answer struct {
	decision decision
	reason   string
	hint     string          // what would change it, if the answer is the host's own
	args     json.RawMessage // changed arguments, or the changed message; nil for none
	context  string
	stop     bool
}

// decision is in the order of strictness.
type decision int

const (
	none decision = iota
	ask
	deny
)

// Turn is what hooks are told of an agent's turn, and how they end it.
type Turn struct {
	Transcript string      // the file with the conversation; empty if there is none
	End        func(error) // ends the turn; with an *EndError
}

// EndError says that a hook has ended a turn, which is no failure.
type EndError struct{ Rule, Reason string }

func (e *EndError) Error() string { return fmt.Sprintf("%s has ended the turn: %s", e.Rule, e.Reason) }

type turnKey struct{}

// WithTurn returns a context for what belongs to a turn.
func WithTurn(ctx context.Context, t Turn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

// turnOf is the turn that a context belongs to.
func turnOf(ctx context.Context) Turn {
	t, _ := ctx.Value(turnKey{}).(Turn)
	if t.End == nil {
		t.End = func(error) {} // nobody's turn: what was refused is refused, and a client goes on as it likes
	}
	return t
}

// end ends the turn if hooks say so.
func (v Verdict) end(ctx context.Context) {
	if v.Stop {
		turnOf(ctx).End(&EndError{v.Rule, v.Deny})
	}
}
