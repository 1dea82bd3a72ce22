package session

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
)

// Result is how a call ended. Text and Structured may be there beside an error: what was found until then.
type Result struct {
	Text       string          // what an agent reads
	Structured json.RawMessage // the typed result, a JSON object in one line; nil for tools that have only text
	Content    []Content       // all blocks in order, if there is more than text; Text has what is to be read
	Err        *Error          // nil if the call succeeded
	Answered   bool            // the tool was called and has answered: an error is its own
	Duration   time.Duration   // from the call's arrival to its answer

	undo string // the change that undo takes back
}

// Error says why a call failed, so that an agent or a person can do something about it: in the tool's words or in the
// host's.
type Error = sdk.Error

// Content is one block of a result: a text, something to look at or listen to, or with a URI a resource.
type Content = sdk.Content

// contents are a plugin's blocks as callers have them.
func contents(blocks []*pluginpb.Content) []Content {
	var all []Content
	for _, b := range blocks {
		all = append(all, Content{Text: b.GetText(), Data: b.GetData(), MediaType: b.GetMediaType(), URI: b.GetUri()})
	}
	return all
}

// addRefused says what the network has refused meanwhile.
func (r *Result) addRefused(reasons []string) {
	for _, reason := range reasons {
		if r.Text != "" && !strings.HasSuffix(r.Text, "\n") {
			r.Text += "\n"
		}
		r.Text += "[" + reason + "]"
		if r.Err != nil && r.Err.Hint == "" {
			r.Err.Hint = reason
		}
	}
}

// size is how many bytes the result has.
func (r *Result) size() int {
	n := len(r.Text) + len(r.Structured)
	for _, c := range r.Content {
		n += len(c.Data)
	}
	return n
}

// maxUndo is the maximum length of an undo id in bytes; a longer one is ignored.
const maxUndo = 64

// undoID returns the undo id of a plugin's result; empty for a plugin without an undo store.
func undoID(p *pluginpolicy.Policy, r *pluginpb.Result) string {
	if p.Undo.Dir == "" || len(r.GetUndo()) > maxUndo {
		return ""
	}
	return r.GetUndo()
}
