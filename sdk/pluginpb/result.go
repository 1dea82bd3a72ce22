package pluginpb

import "strings"

// AgentText is what an agent reads of a result.
func (r *Result) AgentText() string {
	blocks := r.Blocks()
	if blocks == nil {
		return r.leading()
	}
	var texts []string
	for _, b := range blocks {
		if b.GetText() != "" {
			texts = append(texts, b.GetText())
		}
	}
	return strings.Join(texts, "\n")
}

// Blocks are all that there is of a result, in order and wherever the plugin has put it; nil if it is only a text.
func (r *Result) Blocks() []*Content {
	if len(r.GetMedia()) == 0 && len(r.GetContent()) == 0 {
		return nil
	}
	var all []*Content
	if text := r.leading(); text != "" {
		all = append(all, &Content{Text: text})
	}
	if len(r.GetMedia()) > 0 {
		all = append(all, &Content{Data: r.GetMedia(), MediaType: r.GetMediaType()})
	}
	return append(all, r.GetContent()...)
}

// leading is the text that stands before everything else.
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
