package session

import (
	"context"
	"errors"
	"time"

	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// payer is whose share a session's calls are of: its agent's, or that of the agent that has given it its work.
type payer struct {
	agent  string
	limits quota.Limits
}

// Shares counts what agents have of the host.
func (h *Host) Shares() *quota.Ledger { return h.shares }

// maxOutputDelay limits how long one piece of output of an agent over its output limit is delayed. The call's timeout runs on.
const maxOutputDelay = time.Second

// countOutput counts the output of a running call, and delays it when the agent is over its output limit.
func (s *Session) countOutput(ctx context.Context, events func(Event)) func(Event) {
	if events == nil || s.payer.limits.Output == 0 {
		return events
	}
	return func(e Event) {
		owed := s.host.shares.CountOutput(s.payer.agent, s.payer.limits, len(e.Output))
		if owed > 0 && len(e.Output) > 0 {
			select {
			case <-time.After(min(owed, maxOutputDelay)):
			case <-ctx.Done():
			}
		}
		events(e)
	}
}

// traceQueue returns a function that reports to the caller and the tracer that a call waits in a queue, and one that ends
// the trace.
func (s *Session) traceQueue(ctx context.Context, events func(Event)) (queued func(why string), endTrace func(error)) {
	end := func(error) {}
	queued = func(why string) {
		_, end = s.traceStep(ctx, Queueing)
		if events != nil {
			events(Event{Message: why})
		}
	}
	return queued, func(err error) { end(err) }
}

// quotaRefusal is the result of a call that was not admitted: its agent is over a limit, or the wait ended.
func (c *call) quotaRefusal(err error) *Result {
	if stopped := stoppedError(c.ctx); stopped != nil {
		return &Result{Err: stopped}
	}
	var over *quota.Exceeded
	if !errors.As(err, &over) {
		return &Result{Err: &Error{Code: pluginpb.CodeCancelled, Message: c.record.Tool + " was cancelled while it waited"}}
	}
	c.record.Decision, c.record.Rule = guard.Deny.String(), over.Key
	return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: over.Why, Rule: over.Key,
		Hint: "make fewer calls at a time, or call it again later; the operator may raise " + over.Key}}
}
