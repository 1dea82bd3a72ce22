package agent

import "github.com/picoclaw/picoclaw/host/session"

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
