package console

import (
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/redact"
)

// Limits of the stored results.
const (
	maxResults     = 500
	maxResultBytes = 32 << 10
	redactMargin   = 4 << 10 // stored in addition, so that no secret is cut in two before it is redacted
)

// resultStore has the results of this process's latest calls, which the audit log lacks. The zero value is ready to
// use.
type resultStore struct {
	mu    sync.Mutex
	byKey map[callKey]storedResult
	order []callKey // the oldest first
}

// callKey identifies a call.
type callKey struct {
	session string
	at      int64
}

type storedResult struct {
	text  string // not yet redacted
	bytes int
}

func newCallKey(session string, at time.Time) callKey { return callKey{session, at.UnixNano()} }

func (s *resultStore) keepResult(r audit.Record, text string) {
	one := storedResult{text: text, bytes: len(text)}
	if most := maxResultBytes + redactMargin; len(text) > most {
		one.text = strings.Clone(text[:most]) // frees the rest
	}
	key := newCallKey(r.Session, r.Time)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[callKey]storedResult{}
	}
	if len(s.order) >= maxResults {
		delete(s.byKey, s.order[0])
		s.order = append(s.order[:0], s.order[1:]...)
	}
	s.byKey[key] = one
	s.order = append(s.order, key)
}

// RedactedResult is a call's redacted result for the call's page.
type RedactedResult struct {
	Kept bool
	Text string
	Cut  int // original size in bytes, if cut
}

func (s *resultStore) findResult(session string, at time.Time) RedactedResult {
	s.mu.Lock()
	one, ok := s.byKey[newCallKey(session, at)]
	s.mu.Unlock()
	if !ok {
		return RedactedResult{}
	}
	out := RedactedResult{Kept: true, Text: clipText(redact.RedactText(strings.ToValidUTF8(one.text, "\uFFFD")), maxResultBytes)}
	if one.bytes > maxResultBytes {
		out.Cut = one.bytes
	}
	return out
}
