package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// quotaOwner names the agent whose quota a session uses: its own, or the agent that delegated the work.
type quotaOwner struct {
	agent  string
	limits quota.AgentLimits
}

// maxOutputDelay limits the delay of one piece of output when an agent exceeds its output limit. The call's timeout
// continues during the delay.
const maxOutputDelay = time.Second

// countAndDelayOutput wraps events to count a call's output for the agent's quota. Over the limit it delays the output.
func (s *Session) countAndDelayOutput(ctx context.Context, events func(CallEvent)) func(CallEvent) {
	if events == nil || s.account.limits.Output == 0 {
		return events
	}
	return func(e CallEvent) {
		owed := s.host.shares.CountOutput(s.account.agent, s.account.limits, len(e.Output))
		if owed > 0 && len(e.Output) > 0 {
			select {
			case <-time.After(min(owed, maxOutputDelay)):
			case <-ctx.Done():
			}
		}
		events(e)
	}
}

// traceQueuedCall returns two functions: queued reports a waiting call to its caller and the tracer, and endTrace ends
// the trace.
func (s *Session) traceQueuedCall(ctx context.Context, events func(CallEvent)) (queued func(why string), endTrace func(error)) {
	end := func(error) {}
	queued = func(why string) {
		_, end = s.traceStep(ctx, Queueing)
		if events != nil {
			events(CallEvent{Message: why})
		}
	}
	return queued, func(err error) { end(err) }
}

// quotaRefusalResult returns the result of a call that exceeds a limit of the quota, or was cancelled while it waited.
func (c *call) quotaRefusalResult(err error) *Result {
	if stopped := callStoppedError(c.ctx); stopped != nil {
		return &Result{Err: stopped}
	}
	var over *quota.ExceededError
	if !errors.As(err, &over) {
		return &Result{Err: &Error{Code: pluginpb.CodeCancelled, Message: fmt.Sprintf("%s was %v", c.record.Tool, err)}}
	}
	return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: over.Why, Rule: over.Key,
		Hint: "make fewer calls at a time, or call it again later; the operator may raise " + over.Key}}
}
