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

// Record is one call in the log. A call with an effect has two entries: one at its begin, and a complete one at its
// end. Readers return one Record for both entries.
type Record struct {
	Time     time.Time      `json:"time"` // when the call arrived, UTC
	Agent    string         `json:"agent"`
	Session  string         `json:"session"`
	Parent   string         `json:"parent,omitempty"` // session that opened this one
	Origin   string         `json:"origin"`
	Tool     string         `json:"tool"` // full name, or the requested name of an unknown tool
	Args     map[string]any `json:"args,omitempty"`
	Decision string         `json:"decision"`         // allow, ask or deny
	Answer   string         `json:"answer,omitempty"` // yes or no, of a person; no if nobody could be asked
	Approval *Approval      `json:"approval,omitempty"`
	Rule     string         `json:"rule,omitempty"`
	Millis   float64        `json:"ms"`             // from the call's arrival to its result
	Bytes    int            `json:"result_bytes"`   // text, structured result and media together
	Undo     string         `json:"undo,omitempty"` // id of the change in the undo history
	Error    string         `json:"error,omitempty"`

	Call  string `json:"call,omitempty"`  // the same in both entries of a call
	State string `json:"state,omitempty"` // Begun in the entry of a call's begin

	shortened bool
}

// Begun is the State in the entry of a call's begin.
const Begun = "begun"

// IsOpen reports whether the log has no end of the call, because it is running or its host was killed.
func (r Record) IsOpen() bool { return r.State == Begun }

// Approval records the answer to an approval request: who gave it, in which way and when. A call without an answer has
// no Approval.
type Approval struct {
	By   string    `json:"by,omitempty"` // user, if known
	Way  string    `json:"way"`          // client: in the calling client; cli: picoclaw approvals; console
	Time time.Time `json:"time"`
}

const (
	maxValue     = 256  // maximum bytes of a text; a longer one is cut and its length noted
	maxItems     = 16   // maximum items of a list, and members of a nested object
	maxDepth     = 8    // maximum nesting of values
	redactWindow = 4096 // bytes of a text searched for secrets; more than maxValue, so that no secret is cut in two
)

// encodeShortened returns the shortened entry as JSON, without the chain hash.
func (r Record) encodeShortened() ([]byte, error) { return r.RedactedAndShortened().encodeJSON() }

// encodeJSON returns the entry as JSON for people: < is not escaped, and invalid UTF-8 becomes U+FFFD.
func (r Record) encodeJSON() ([]byte, error) {
	return jsonv2.Marshal(r, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true))
}

// RedactedAndShortened returns the entry as logged: without secrets and with long values cut.
func (r Record) RedactedAndShortened() Record {
	r.Error = redactAndShortenText("", r.Error)
	if r.shortened {
		return r
	}
	r.shortened = true
	if r.Args != nil {
		args := make(map[string]any, len(r.Args))
		for name, value := range r.Args {
			args[name] = redactAndShortenValue(name, value, 0)
		}
		r.Args = args
	}
	r.Tool = redactAndShortenText("", r.Tool)
	return r
}

func redactAndShortenValue(name string, v any, depth int) any {
	if depth == maxDepth {
		return "…"
	}
	switch v := v.(type) {
	case string:
		return redactAndShortenText(name, v)
	case map[string]any:
		short := make(map[string]any, min(len(v), maxItems+1))
		for key, value := range v {
			if len(short) == maxItems {
				short["…"] = fmt.Sprintf("(%d members)", len(v))
				break
			}
			short[redactAndShortenText("", key)] = redactAndShortenValue(key, value, depth+1)
		}
		return short
	case []any:
		short := make([]any, 0, min(len(v), maxItems+1))
		for i, item := range v {
			if i == maxItems {
				return append(short, fmt.Sprintf("… (%d items)", len(v)))
			}
			short = append(short, redactAndShortenValue(name, item, depth+1))
		}
		return short
	}
	return redact.RedactValue(name, v)
}

func redactAndShortenText(name, text string) string {
	if len(text) <= maxValue {
		kept, _ := redact.RedactValue(name, text).(string) // a string stays one
		return kept
	}
	kept, _ := redact.RedactValue(name, clipText(text, redactWindow)).(string)
	if kept == redact.Mark {
		return kept
	}
	return fmt.Sprintf("%s… (%d bytes)", clipText(kept, maxValue), len(text))
}

func clipText(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

var cutText = lazyregexp.New(`^…$|… ?\(\d+ (?:bytes|items)\)$`)

// IsArgumentWhole reports whether the log has an argument completely: no part was cut, and no secret removed.
func IsArgumentWhole(v any) bool {
	switch v := v.(type) {
	case string:
		return !strings.Contains(v, redact.Mark) && !cutText().MatchString(v)
	case []any:
		return !slices.ContainsFunc(v, func(item any) bool { return !IsArgumentWhole(item) })
	case map[string]any:
		for name, value := range v {
			if !IsArgumentWhole(name) || !IsArgumentWhole(value) {
				return false
			}
		}
	}
	return true
}
