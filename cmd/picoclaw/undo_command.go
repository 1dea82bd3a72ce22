package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/cmd/picoclaw/internal/terminal"
	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// changes are what the tool history answers.
type changes struct {
	Operations []change `json:"operations"`
}

type change struct {
	ID      string `json:"id"`
	Time    string `json:"time"`
	Summary string `json:"summary"`
	Undone  bool   `json:"undone"`
	Undoes  string `json:"undoes"`
}

// at returns when a change was made, which its id begins with: the zero time if it doesn't.
func (c change) at() time.Time {
	const digits = len("20060102T150405000000000")
	if len(c.ID) < digits {
		return time.Time{}
	}
	at, err := time.Parse("20060102T150405.000000000", c.ID[:15]+"."+c.ID[15:digits])
	if err != nil {
		return time.Time{}
	}
	return at
}

// mostChanges is how many changes an error shows.
const mostChanges = 5

// commandSince returns the refusal of an undo that names no change, if the agent has run a command since the change
// that it would take back: what the command did is in no history, and may be what was meant.
func commandSince(ctx context.Context, s *session.Session) (*session.Error, error) {
	r := s.Call(ctx, "history", json.RawMessage(`{"limit":1000}`), nil)
	if r.Err != nil {
		return nil, nil // undo says what is wrong
	}
	var known changes
	if err := json.Unmarshal(r.Structured, &known); err != nil {
		return nil, fmt.Errorf("read the history: %w", err)
	}
	left := slices.DeleteFunc(known.Operations, func(c change) bool { return c.Undone || c.Undoes != "" })
	if len(left) == 0 {
		return nil, nil
	}
	command, at, err := lastCommand(s, left[0].at())
	if err != nil || !at.After(left[0].at()) {
		return nil, err
	}
	text := fmt.Sprintf("the last change may be a command's, and what this one changed is not in the history: %s (%s)",
		short(command), at.Local().Format(time.DateTime))
	for _, c := range left[:min(len(left), mostChanges)] {
		text += fmt.Sprintf("\n%s  %s  %s", c.ID, c.Time, terminal.Line(c.Summary))
	}
	return &session.Error{Code: pluginpb.CodeConflict, Message: text,
		Hint: "`picoclaw undo ID` takes one of these back; `picoclaw history` lists them all"}, nil
}

// lastCommand returns the command of the agent's that ended last, and when it did. It looks no further back than since.
func lastCommand(s *session.Session, since time.Time) (command string, at time.Time, err error) {
	q := audit.Query{Filter: audit.Filter{Agent: s.Policy().Agent()}, Limit: 200}
	for {
		page, err := audit.Search(session.AuditFile(s.Policy().Home()), q)
		if err != nil {
			return "", at, err
		}
		for _, r := range page.Records {
			if r.Ended().After(at) {
				if text := s.UnkeptCommand(r); text != "" {
					command, at = text, r.Ended()
				}
			}
		}
		if command != "" || page.Next == "" || page.Reached.Before(since) {
			return command, at, nil
		}
		q.After = page.Next
	}
}

// short returns the beginning of a command in one line.
func short(command string) string {
	const most = 120
	line := []rune(strings.TrimSpace(terminal.Line(command)))
	if len(line) <= most {
		return string(line)
	}
	return string(line[:most]) + "…"
}
