package audit

import (
	"fmt"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// Record is what is kept of one call. A call that has an effect has two entries: one when it begins, and one with all of
// it when it ends. Readers give one Record for both; that of a call without an end is [Record.IsOpen].
type Record struct {
	Time     time.Time      `json:"time"` // when the call arrived, UTC
	Agent    string         `json:"agent"`
	Session  string         `json:"session"`
	Parent   string         `json:"parent,omitempty"` // the session that has opened this one
	Origin   string         `json:"origin"`
	Tool     string         `json:"tool"` // full name, or what the caller asked for if there is no such tool
	Args     map[string]any `json:"args,omitempty"`
	Decision string         `json:"decision"`         // allow, ask or deny
	Answer   string         `json:"answer,omitempty"` // yes or no, of the person who was asked; no if there was nobody
	Approval *Approval      `json:"approval,omitempty"`
	Rule     string         `json:"rule,omitempty"`
	Millis   float64        `json:"ms"`             // from the call's arrival to its answer
	Bytes    int            `json:"result_bytes"`   // text, structured result and media together
	Undo     string         `json:"undo,omitempty"` // the change to files that undo takes back by this name
	Error    string         `json:"error,omitempty"`

	// The last members of an entry, see callOf.
	Call  string `json:"call,omitempty"`  // the same in both entries of a call
	State string `json:"state,omitempty"` // Begun in the entry of a call's begin

	kept bool
}

// Begun is the State of the entry of a call's begin.
const Begun = "begun"

// IsOpen reports whether the log has no end of the call: it runs, or its host was killed.
func (r Record) IsOpen() bool { return r.State == Begun }

// Approval says who has answered, by which way, and when. Nobody has where a record's answer has none beside it.
type Approval struct {
	By   string    `json:"by,omitempty"` // the user, as far as that is known
	Way  string    `json:"way"`          // client: as the one that called has asked; cli: picoclaw approvals; console
	Time time.Time `json:"time"`
}

const (
	maxValue = 256  // how much of one text is kept, in bytes; what is longer is cut and its length told
	maxItems = 16   // how many items of a list, and members of an object below the arguments
	maxDepth = 8    // how deeply nested values are kept
	window   = 4096 // how much of a text is looked through for secrets: more than is kept, so that none is cut in two
)

// text is the record as its line has it, but for the chain.
func (r Record) text() ([]byte, error) { return r.Kept().encoded() }

// encoded is the record as JSON. People read it too: a < in a command stands there as one. What is not UTF-8 in it becomes
// U+FFFD.
func (r Record) encoded() ([]byte, error) {
	return jsonv2.Marshal(r, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// Kept returns the record as it is written: without secrets, and with long values cut.
func (r Record) Kept() Record {
	if r.kept {
		r.Error = shortenText("", r.Error)
		return r
	}
	r.kept = true
	if r.Args != nil {
		args := make(map[string]any, len(r.Args))
		for name, value := range r.Args {
			args[name] = shorten(name, value, 0)
		}
		r.Args = args
	}
	r.Error = shortenText("", r.Error)
	r.Tool = shortenText("", r.Tool)
	return r
}

func shorten(name string, v any, depth int) any {
	if depth == maxDepth {
		return "…"
	}
	switch v := v.(type) {
	case string:
		return shortenText(name, v)
	case map[string]any:
		short := make(map[string]any, min(len(v), maxItems+1))
		for key, value := range v {
			if len(short) == maxItems {
				short["…"] = fmt.Sprintf("(%d members)", len(v))
				break
			}
			short[shortenText("", key)] = shorten(key, value, depth+1)
		}
		return short
	case []any:
		short := make([]any, 0, min(len(v), maxItems+1))
		for i, item := range v {
			if i == maxItems {
				return append(short, fmt.Sprintf("… (%d items)", len(v)))
			}
			short = append(short, shorten(name, item, depth+1))
		}
		return short
	}
	return redact.Value(name, v)
}

func shortenText(name, text string) string {
	if len(text) <= maxValue {
		kept, _ := redact.Value(name, text).(string) // a string stays one
		return kept
	}
	kept, _ := redact.Value(name, clip(text, window)).(string)
	if kept == redact.Mark {
		return kept
	}
	return fmt.Sprintf("%s… (%d bytes)", clip(kept, maxValue), len(text))
}

// clip returns the beginning of a text, cut between two characters.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

var cutText = lazyregexp.New(`^…$|… ?\(\d+ (?:bytes|items)\)$`)

// Whole reports whether a value of a record's arguments is the call's: nothing was cut off, and no secret cut out.
func Whole(v any) bool {
	switch v := v.(type) {
	case string:
		return !strings.Contains(v, redact.Mark) && !cutText().MatchString(v)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !Whole(item) })
	case map[string]any:
		for name, value := range v {
			if !Whole(name) || !Whole(value) {
				return false
			}
		}
	}
	return true
}
