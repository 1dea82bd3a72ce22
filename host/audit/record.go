package audit

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/picoclaw/picoclaw/host/redact"
)

// Record is what is kept of one call.
type Record struct {
	Time     time.Time      `json:"time"` // when the call arrived, UTC
	Agent    string         `json:"agent"`
	Session  string         `json:"session"`
	Origin   string         `json:"origin"`
	Tool     string         `json:"tool"` // full name, or what the caller asked for if there is no such tool
	Args     map[string]any `json:"args,omitempty"`
	Decision string         `json:"decision"`         // allow, ask or deny
	Answer   string         `json:"answer,omitempty"` // yes or no, of the person who was asked; no if there was nobody
	Rule     string         `json:"rule,omitempty"`
	Millis   float64        `json:"ms"`           // from the call's arrival to its answer
	Bytes    int            `json:"result_bytes"` // text, structured result and media together
	Error    string         `json:"error,omitempty"`
}

const (
	maxValue = 256  // how much of one text is kept, in bytes; what is longer is cut and its length told
	maxItems = 16   // how many items of a list, and members of an object below the arguments
	maxDepth = 8    // how deeply nested values are kept
	window   = 4096 // how much of a text is looked through for secrets: more than is kept, so that none is cut in two
)

// text is the record as its line has it, but for the chain. People read it too: a < in a command stands there as one.
func (r Record) text() ([]byte, error) {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false)
	if err := e.Encode(r.kept()); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(line.Bytes(), []byte{'\n'}), nil
}

// kept returns the record as it is written: without secrets, and with long values cut.
func (r Record) kept() Record {
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
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
