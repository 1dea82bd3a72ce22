package hooks

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/isolation"
)

// HookEvent is the name of an event that hooks run for.
type HookEvent string

// The supported events of Claude Code.
const (
	PreToolUse       HookEvent = "PreToolUse"
	PostToolUse      HookEvent = "PostToolUse"
	UserPromptSubmit HookEvent = "UserPromptSubmit"
	SessionStart     HookEvent = "SessionStart"
	SessionEnd       HookEvent = "SessionEnd"
	Stop             HookEvent = "Stop"
	SubagentStop     HookEvent = "SubagentStop"
	Notification     HookEvent = "Notification"
)

// Events for process hooks only: a request to a model, and its response.
const (
	BeforeModel HookEvent = "before_llm"
	AfterModel  HookEvent = "after_llm"
)

// hooksCanRefuse reports whether hooks can refuse the event. If so, a failed hook refuses it.
func (e HookEvent) hooksCanRefuse() bool {
	return e == PreToolUse || e == UserPromptSubmit || e == BeforeModel || e == AfterModel
}

// EventData describes an event other than a tool call. Fields that its event does not use are empty.
type EventData struct {
	Event     HookEvent
	Prompt    string // UserPromptSubmit: text of the prompt
	Source    string // SessionStart: startup or resume
	Reason    string // SessionEnd: reason of the end
	AgentType string // SubagentStop: the subagent's id
	Active    bool   // Stop, SubagentStop: a hook has already continued this turn
	Title     string // Notification: subject
	Message   string // Notification
	Kind      string // Notification: kind, as job_ok
}

// EventVerdict is the strictest response of all hooks to an event. The zero value refuses nothing.
type EventVerdict struct {
	session.HookVerdict // for Stop and SubagentStop, Deny is the reason to continue

	Context string // text for the model
	Stop    bool   // end the turn, for the reason in Deny
}

// sessionInfo describes the session for which hooks run.
type sessionInfo struct {
	session, agent string
	policy         string // digest of the policy
	dir            string // workspace
	transcript     string
	start          func(session.AgentProgram) (*isolation.Process, error)
}

func sessionInfoOf(ctx context.Context, s *session.Session) sessionInfo {
	return sessionInfo{session: s.ID(), agent: s.Policy().AgentID(), policy: s.Policy().Digest(),
		dir: s.Policy().WorkspacePath(), transcript: turnFromContext(ctx).Transcript, start: s.StartConfinedProgram}
}

// hookRequest is an event with its data, as passed to one hook.
type hookRequest struct {
	sessionInfo
	event        HookEvent
	call         session.HookedCall
	result       *session.Result
	data         EventData
	modelMessage json.RawMessage // the request to the model or its response, as the model's client encodes it
}

// hookResponse is the response of one hook.
type hookResponse struct {
	decision hookDecision
	reason   string
	hint     string          // remedy, if the host itself made this response
	args     json.RawMessage // changed arguments or changed message; nil if unchanged
	context  string
	stop     bool
}

// hookDecision is a hook's decision. A higher value is stricter.
type hookDecision int

const (
	none hookDecision = iota
	ask
	deny
)

// AgentTurn has the conversation file of an agent's turn, and a function by which a hook ends the turn.
type AgentTurn struct {
	Transcript string      // path of the conversation file; empty if there is none
	End        func(error) // ends the turn, with a *TurnEndError
}

// TurnEndError says that a hook ended the turn.
type TurnEndError struct{ Rule, Reason string }

// Error names the rule that ended the turn, and its reason.
func (e *TurnEndError) Error() string { return fmt.Sprintf("%s ended the turn: %s", e.Rule, e.Reason) }

// turnKey is the context key of an AgentTurn.
type turnKey struct{}

// WithTurn returns a context that carries a turn.
func WithTurn(ctx context.Context, t AgentTurn) context.Context {
	return context.WithValue(ctx, turnKey{}, t)
}

func turnFromContext(ctx context.Context) AgentTurn {
	t, _ := ctx.Value(turnKey{}).(AgentTurn)
	if t.End == nil {
		t.End = func(error) {} // outside a turn there is nothing to end
	}
	return t
}

// endTurnOnStop ends the turn if the verdict has Stop set.
func (v EventVerdict) endTurnOnStop(ctx context.Context) {
	if v.Stop {
		turnFromContext(ctx).End(&TurnEndError{v.Rule, v.Deny})
	}
}
