package hooks

import (
	"encoding/json"
	"os/exec"

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
)

// The events that processes alone are asked about: what goes to a model, and what comes from it.
const (
	beforeModel Event = "before_llm"
	afterModel  Event = "after_llm"
)

// events are those that have hooks in the settings.
var events = []Event{PreToolUse, PostToolUse, UserPromptSubmit, SessionStart, SessionEnd, Stop, SubagentStop}

// gates reports whether hooks of an event can refuse something, so that one without an answer has to.
func (e Event) gates() bool {
	return e == PreToolUse || e == UserPromptSubmit || e == beforeModel || e == afterModel
}

// Session is the session that hooks are asked for.
type Session struct {
	ID, Agent, Origin string
	Dir               string // the workspace
	Transcript        string // the file with the conversation; empty if there is none
	// Start starts a program through isolation.
	Start func(Program) (*isolation.Process, error)
}

// Program is a hook's program and what it may touch.
type Program struct {
	Name                string
	Command             *exec.Cmd // its streams are files, and its environment is the whole one
	Workspace           string    // none, ro or rw
	ReadOnly, ReadWrite []string
	Network             bool
	Hosts, Secrets      []string
	From                []string
}

// Call is a call of a tool's.
type Call struct {
	Tool string          // the full name, such as shell.exec
	Args json.RawMessage // a JSON object
	ID   string          // tells calls of a session apart
}

// Response is how a call ended.
type Response struct {
	Text       string
	Structured json.RawMessage // may be nil
	Error      string          // empty if it succeeded
}

// Occasion is something that is no call. What its event has no use for is empty.
type Occasion struct {
	Event     Event
	Prompt    string // UserPromptSubmit: what a person, or who stands for one, has said
	Source    string // SessionStart: startup or resume
	Reason    string // SessionEnd: why
	AgentType string // SubagentStop: the subagent's id
	Active    bool   // Stop, SubagentStop: a hook has kept the agent going before in this turn
}

// Verdict is what hooks say together: the strictest of their answers counts. Its zero value lets things go on.
type Verdict struct {
	// Deny is why it may not be: the call, or the prompt; for Stop and SubagentStop, why the agent is to go on; for
	// PostToolUse, what the model is told besides.
	Deny string
	// Ask is what a person is to be asked first.
	Ask string
	// Rule is the key of the hooks that have denied or asked, such as "hooks.PreToolUse[0]".
	Rule string
	// Args are the call's arguments if hooks have changed them, to be decided on anew.
	Args json.RawMessage
	// Context is what hooks have to tell the model.
	Context string
	// Stop says that the turn is to end, and Deny why.
	Stop bool
}

// question is what one hook is asked.
type question struct {
	event    Event
	session  Session
	call     Call
	response *Response
	occasion Occasion
	model    json.RawMessage // the request or response, in the form of whoever speaks with the model
}

// answer is what one hook has said.
type answer struct {
	decision decision
	reason   string
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
