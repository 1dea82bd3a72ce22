package session

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
)

// Result is the outcome of a call. A failed call may have Text and Structured as partial results.
type Result struct {
	Text       string          // for the agent
	Structured json.RawMessage // typed result, a JSON object in one line; nil for text-only tools
	Content    []Content       // all blocks in order, if there is more than text; Text has the readable part
	Err        *Error          // nil if the call succeeded
	Answered   bool            // the tool ran and answered: Err is its own
	Duration   time.Duration   // from the call's arrival to its result

	undoID string // id of the change in the undo history
}

// Error says why a call failed and how to fix it. The tool or the host wrote the text.
type Error = sdk.Error

// Content is one block of a result: text, media, or a resource with a URI.
type Content = sdk.Content

func convertContentBlocks(blocks []*pluginpb.Content) []Content {
	var all []Content
	for _, b := range blocks {
		all = append(all, Content{Text: b.GetText(), Data: b.GetData(), MediaType: b.GetMediaType(), URI: b.GetUri(),
			Role: b.GetRole()})
	}
	return all
}

// addHostNote appends a note of the host to all forms of the result that the agent may read.
func (r *Result) addHostNote(note string) {
	if r.Text == "" && len(r.Content) == 0 {
		r.Text = string(r.Structured) // which agents read where there is no text
	}
	if r.Text != "" && !strings.HasSuffix(r.Text, "\n") {
		r.Text += "\n"
	}
	r.Text += note
	if len(r.Content) > 0 {
		r.Content = append(r.Content, Content{Text: note})
	}
}

// addNetworkRefusals appends the reasons of refused network connections to the result.
func (r *Result) addNetworkRefusals(reasons []string) {
	for _, reason := range reasons {
		r.addHostNote("[" + reason + "]")
		if r.Err != nil && r.Err.Hint == "" {
			r.Err.Hint = reason
		}
	}
}

func (r *Result) byteSize() int {
	n := len(r.Text) + len(r.Structured)
	for _, c := range r.Content {
		n += len(c.Data)
	}
	return n
}

// maxUndoIDBytes is the maximum length of an undo id in bytes; a longer one is ignored.
const maxUndoIDBytes = 64

// undoIDOf returns the undo id in a plugin's result; empty if the plugin has no undo store.
func undoIDOf(p *pluginpolicy.Policy, r *pluginpb.Result) string {
	if p.Undo.Dir == "" || len(r.GetUndo()) > maxUndoIDBytes {
		return ""
	}
	return r.GetUndo()
}
