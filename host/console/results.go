package console

import (
	"strings"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/redact"
)

// Bounds of the answers that are kept.
const (
	mostAnswers = 500
	mostAnswer  = 32 << 10
	beyond      = 4 << 10 // which is kept besides, so that no secret is cut in two before it is cut out
)

// results are the answers to the last calls of this process, which no record has. The zero value is ready.
type results struct {
	mu    sync.Mutex
	byKey map[callKey]answered
	order []callKey // the oldest first
}

// callKey is which call it was.
type callKey struct {
	session string
	at      int64
}

type answered struct {
	text  string // secrets and all: they are cut out before it is shown
	bytes int
}

func keyOf(session string, at time.Time) callKey { return callKey{session, at.UnixNano()} }

func (s *results) keep(r audit.Record, text string) {
	one := answered{text: text, bytes: len(text)}
	if most := mostAnswer + beyond; len(text) > most {
		one.text = strings.Clone(text[:most]) // not the whole of it with it
	}
	key := keyOf(r.Session, r.Time)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.byKey == nil {
		s.byKey = map[callKey]answered{}
	}
	if len(s.order) >= mostAnswers {
		delete(s.byKey, s.order[0])
		s.order = append(s.order[:0], s.order[1:]...)
	}
	s.byKey[key] = one
	s.order = append(s.order, key)
}

// Answer is what a call has answered, as it may be shown.
type Answer struct {
	Kept bool
	Text string
	Cut  int // how many bytes it had, if that is not all of it; 0 if it is
}

func (s *results) answer(session string, at time.Time) Answer {
	s.mu.Lock()
	one, ok := s.byKey[keyOf(session, at)]
	s.mu.Unlock()
	if !ok {
		return Answer{}
	}
	out := Answer{Kept: true, Text: clip(redact.Text(strings.ToValidUTF8(one.text, "\uFFFD")), mostAnswer)}
	if one.bytes > mostAnswer {
		out.Cut = one.bytes
	}
	return out
}
