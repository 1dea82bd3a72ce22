package session

import (
	"context"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Tracer follows calls, for an operator who wants to see what they do and where their time goes. It never holds one up.
type Tracer interface {
	// Call follows a call. What belongs to the call has the context that is returned; ended is told how it has ended.
	Call(ctx context.Context, r audit.Record) (_ context.Context, ended func(audit.Record, *Result))
	// Step follows a part of a call that has begun then.
	Step(ctx context.Context, s Step, began time.Time) (_ context.Context, ended func(error))
	// Trace returns what is passed on to whoever does a part of the work.
	Trace(ctx context.Context) Trace
	// PluginStarted is told that a plugin was started, or why it was not, PluginEnded that one that was has ended.
	PluginStarted(plugin string, took time.Duration, err error)
	PluginEnded(plugin string, crashed bool)
}

// Step is a part of a call.
type Step string

// The steps.
const (
	Deciding Step = "decide"            // by the policy and hooks
	Queueing Step = "wait for turn"     // over its agent's limits
	Asking   Step = "wait for approval" // of a person
	Starting Step = "start plugin"      // or wait for who starts it
	Calling  Step = "call plugin"
)

// Request says which message has asked for a call, as far as it is known.
type Request struct {
	Method    string // of MCP; empty for what is no request of an MCP client's
	Tool      string // as the client calls it
	Session   string // MCP's
	Version   string // of MCP
	Transport string // tcp or pipe
	CallID    string // by which a model knows its call
}

type requestKey struct{}

// WithRequest returns a context for a call that a message has asked for.
func WithRequest(ctx context.Context, r Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf is the message that has asked for a call.
func RequestOf(ctx context.Context) Request {
	r, _ := ctx.Value(requestKey{}).(Request)
	return r
}

// Trace is where something stands in what its caller traces: the values of W3C's headers traceparent and tracestate.
type Trace struct{ Parent, State string }

type traceKey struct{}

// WithTrace returns a context for calls whose caller traces them. What is no trace is left out.
func WithTrace(ctx context.Context, t Trace) context.Context {
	const mostParent, mostState = 55, 512 // as in version 00; state is what all have to pass on
	if len(t.Parent) != mostParent || strings.Trim(t.Parent, "0123456789abcdef-") != "" {
		return ctx
	}
	if len(t.State) > mostState || strings.ContainsFunc(t.State, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.State = ""
	}
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf is where the caller stands.
func TraceOf(ctx context.Context) Trace {
	t, _ := ctx.Value(traceKey{}).(Trace)
	return t
}

// traceCall starts the trace of a call.
func (s *Session) traceCall(ctx context.Context, r audit.Record) (_ context.Context, end func(audit.Record, *Result)) {
	if s.host.tracer == nil {
		return ctx, func(audit.Record, *Result) {}
	}
	return s.host.tracer.Call(ctx, r)
}

// traceStep starts the trace of a step.
func (s *Session) traceStep(ctx context.Context, step Step) (_ context.Context, end func(error)) {
	return s.traceStepSince(ctx, step, time.Now())
}

func (s *Session) traceStepSince(ctx context.Context, step Step, began time.Time) (_ context.Context, end func(error)) {
	if s.host.tracer == nil {
		return ctx, func(error) {}
	}
	return s.host.tracer.Step(ctx, step, began)
}

// minStartTrace is the shortest wait for an instance that is traced: finding a running one takes less.
const minStartTrace = time.Millisecond

// tracePluginCall traces a request to a plugin: until started reports a running instance as start, then until end as call.
func (s *Session) tracePluginCall(ctx context.Context, req *pluginpb.CallRequest) (started func(), end func(error)) {
	began := time.Now()
	endStep := func(err error) {
		_, endStart := s.traceStepSince(ctx, Starting, began)
		endStart(err)
	}
	started = func() {
		if time.Since(began) > minStartTrace {
			endStep(nil)
		}
		var calling context.Context
		calling, endStep = s.traceStep(ctx, Calling)
		t := TraceOf(ctx)
		if s.host.tracer != nil {
			t = s.host.tracer.Trace(calling)
		}
		req.TraceParent, req.TraceState = t.Parent, t.State
	}
	return started, func(err error) { endStep(err) }
}
