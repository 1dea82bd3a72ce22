package pluginpb

import "strings"

// AgentText returns the texts that an agent reads in a result, each on lines of its own.
func (r *Result) AgentText() string {
	if len(r.GetContent()) == 0 {
		return r.leading()
	}
	var texts []string
	for _, b := range r.Blocks() {
		if b.GetText() != "" {
			texts = append(texts, b.GetText())
		}
	}
	return strings.Join(texts, "\n")
}

// Blocks returns all of a result in order; nil if it is only a text.
func (r *Result) Blocks() []*Content {
	text := r.leading()
	if len(r.GetContent()) == 0 || text == "" {
		return r.GetContent()
	}
	return append([]*Content{{Text: text}}, r.GetContent()...)
}

// leading returns the text before all content.
func (r *Result) leading() string {
	if r.GetTextIsStructured() {
		return string(r.GetStructured())
	}
	return r.GetText()
}

// The codes of errors that programs tell apart. A tool may use others of its own.
const (
	CodeInvalidArgument = "invalid_argument" // the call has to be made differently
	CodeUnknownTool     = "unknown_tool"     // there is no such tool, or not for this agent
	CodeNotFound        = "not_found"        // what was named does not exist
	CodeAccessDenied    = "access_denied"    // the policy or the operating system refused
	CodeConflict        = "conflict"         // what was named is not in the state that the call expects
	CodeTooLarge        = "too_large"        // over a limit
	CodeTimeout         = "timeout"          // out of time
	CodeCancelled       = "cancelled"        // the caller gave up
	CodeNobodyToAsk     = "nobody_to_ask"    // there is no person to put a question to
	CodeWithdrawn       = "withdrawn"        // the tool is not what its manifest says, and not offered any more
	CodeStopped         = "stopped"          // the operator has stopped the agent
	CodeFailed          = "failed"           // anything else
	CodePanic           = "panic"            // the tool's code crashed; its plugin goes on
	CodeUnavailable     = "unavailable"      // the plugin could not be started, or ended during the call
)
