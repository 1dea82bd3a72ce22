package hooks

import (
	"context"
	"encoding/json"

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
	dir            string // the workspace
	transcript     string
	start          func(session.Program) (*isolation.Process, error)
}

func of(ctx context.Context, s *session.Session) where {
	return where{session: s.ID(), agent: s.Policy().Agent(), dir: s.Policy().Workspace(),
		transcript: turnOf(ctx).Transcript, start: s.Start}
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
