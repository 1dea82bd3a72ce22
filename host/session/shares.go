package session

import (
	"context"
	"errors"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/share"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// payer is whose share a session's calls are of: its agent's, or that of the agent that has given it its work.
type payer struct {
	agent  string
	limits share.Limits
}

// Shares counts what agents have of the host.
func (h *Host) Shares() *share.Ledger { return h.shares }

// begin counts a call that begins, once its agent's limits let it.
func (s *Session) begin(ctx context.Context, events func(Event), record *audit.Record) *Result {
	told, ended := s.queued(ctx, events)
	err := s.host.shares.Begin(ctx, s.payer.agent, s.payer.limits, s.timeout(), told)
	ended(err)
	if err == nil {
		return nil
	}
	return s.notInTime(ctx, err, record)
}

// callInTurn is callPlugin once there is a place among those of its agent that run. What it puts out is counted.
func (s *Session) callInTurn(ctx context.Context, m *machinery, t *catalog.Tool, args *arguments, events func(Event),
	record *audit.Record) *Result {
	agreed := record.Decision == guard.Ask.String()
	told, ended := s.queued(ctx, events)
	ctx, turn, err := s.host.shares.Take(ctx, s.payer.agent, s.payer.limits, s.timeout(), told)
	ended(err)
	if err != nil {
		return s.notInTime(ctx, err, record)
	}
	defer turn.End()
	result := s.callPlugin(ctx, m, t, args, s.counted(ctx, events), agreed)
	s.host.shares.Put(s.payer.agent, s.payer.limits, result.size())
	return result
}

// slowest is how long a piece of output of an agent that has had its output is held up. The call's time goes on.
const slowest = time.Second

// counted counts the output of a call that runs, and slows it down when its agent has had its output.
func (s *Session) counted(ctx context.Context, events func(Event)) func(Event) {
	if events == nil || s.payer.limits.Output == 0 {
		return events
	}
	return func(e Event) {
		owed := s.host.shares.Put(s.payer.agent, s.payer.limits, len(e.Output))
		if owed > 0 && len(e.Output) > 0 {
			select {
			case <-time.After(min(owed, slowest)):
			case <-ctx.Done():
			}
		}
		events(e)
	}
}

// queued tells a call's listener and the tracer that the call waits, if it does, and how that has ended.
func (s *Session) queued(ctx context.Context, events func(Event)) (told func(why string), ended func(error)) {
	over := func(error) {}
	told = func(why string) {
		_, over = s.step(ctx, Queueing)
		if events != nil {
			events(Event{Message: why})
		}
	}
	return told, func(err error) { over(err) }
}

// notInTime is the result of a call that has not had its turn.
func (s *Session) notInTime(ctx context.Context, err error, record *audit.Record) *Result {
	if stopped := stoppedError(ctx); stopped != nil {
		return &Result{Err: stopped}
	}
	var over *share.Exceeded
	if !errors.As(err, &over) {
		return &Result{Err: &Error{Code: pluginpb.CodeCancelled, Message: record.Tool + " was cancelled while it waited"}}
	}
	record.Decision, record.Rule = guard.Deny.String(), over.Key
	return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: over.Why, Rule: over.Key,
		Hint: "make fewer calls at a time, or call it again later; the operator may raise " + over.Key}}
}
