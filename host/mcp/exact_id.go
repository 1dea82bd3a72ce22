package mcp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"slices"
	"strconv"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// requestIDPreserver preserves request ids that the SDK would change: it parses a number as float64 and drops its fraction.
// Such a number passes through the SDK as a string that starts with a random prefix.
type requestIDPreserver struct{ prefix []byte }

func newIDPreserver() requestIDPreserver { return requestIDPreserver{[]byte(rand.Text() + ":")} }

// quoteIDs quotes the ids that the SDK would change, as strings: the message's own, and that of a cancelled request.
func (e requestIDPreserver) quoteIDs(message []byte) []byte {
	if !hasInexactID(message) {
		return message
	}
	var m struct {
		ID     valueSpan `json:"id"`
		Params struct {
			RequestID valueSpan `json:"requestId"`
		} `json:"params"`
	}
	_ = jsonv2.Unmarshal(message, &m, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)) // the decoder refuses it
	spans := []valueSpan{m.ID, m.Params.RequestID}
	if spans[0].start > spans[1].start {
		spans[0], spans[1] = spans[1], spans[0]
	}
	var quoted []byte
	at := int64(0)
	for _, s := range spans {
		if value := message[s.start:s.end]; isInexactNumber(value) {
			quoted = slices.Concat(quoted, message[at:s.start], []byte{'"'}, e.prefix, value, []byte{'"'})
			at = s.end
		}
	}
	return append(quoted, message[at:]...)
}

// restoreIDs returns data of the SDK with the numbers that quoteIDs replaced.
func (e requestIDPreserver) restoreIDs(data []byte) []byte {
	for len(e.prefix) > 0 {
		start := bytes.Index(data, append([]byte{'"'}, e.prefix...))
		if start < 0 {
			return data
		}
		number, rest, found := bytes.Cut(data[start+1+len(e.prefix):], []byte{'"'})
		if !found || !json.Valid(number) {
			return data
		}
		data = bytes.Join([][]byte{data[:start], number, rest}, nil)
	}
	return data
}

// hasInexactID reports whether a message may have a number as an id that the SDK would change.
func hasInexactID(message []byte) bool {
	for _, name := range []string{`"id"`, `"requestId"`} {
		for rest := message; ; {
			_, after, found := bytes.Cut(rest, []byte(name))
			if !found {
				break
			}
			rest = after
			value := bytes.TrimLeft(after, " \t\r\n:")
			if end := bytes.IndexAny(value[:min(len(value), 1<<10)], ",} \t\r\n"); end > 0 && isInexactNumber(value[:end]) {
				return true
			}
		}
	}
	return false
}

// isInexactNumber reports whether text is a number that is no integer, or is too large for a float64.
func isInexactNumber(text []byte) bool {
	const maxExact = 1 << 53
	if k := jsontext.Value(text).Kind(); k != '0' {
		return false
	}
	n, err := strconv.ParseInt(string(text), 10, 64)
	return (err != nil || n < -maxExact || n > maxExact) && json.Valid(text)
}
