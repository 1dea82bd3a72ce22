package host

import (
	"encoding/json"
	"time"
)

// Result is how a call ended. Text and Structured may be there beside an error: what was found until then.
type Result struct {
	Text       string          // what an agent reads
	Structured json.RawMessage // the typed result, a JSON object in one line; nil for tools that have only text
	Media      []byte          // something to look at or listen to, such as an image
	MediaType  string          // what Media is, such as image/png
	Err        *Error          // nil if the call succeeded
	Duration   time.Duration   // from the call's arrival to its answer
}

// Error says why a call failed, so that an agent or a person can do something about it.
type Error struct {
	Code    string `json:"code"`           // for programs, such as "not_found"
	Message string `json:"message"`        // what went wrong
	Rule    string `json:"rule,omitempty"` // what refused, when something did
	Hint    string `json:"hint,omitempty"` // what would change that
}

func (e *Error) Error() string { return e.Message }

// Event is what a call has to tell before its result: a piece of output, or progress.
type Event struct {
	Output []byte // what the tool prints, as it comes; nil for progress
	Stderr bool   // the output is of the error stream

	Done, Total float64 // in any unit; Total is 0 when not known
	Message     string
}
