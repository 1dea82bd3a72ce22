package session

import (
	"context"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Tracer traces calls and their steps. Its methods never block.
type Tracer interface {
	// TraceCall starts the trace of a call. The returned context belongs to the call; ended completes the trace.
	TraceCall(ctx context.Context, r audit.Record) (_ context.Context, ended func(audit.Record, *Result))
	// TraceStep starts the trace of a step that began at the given time.
	TraceStep(ctx context.Context, s CallStep, began time.Time) (_ context.Context, ended func(error))
	// TraceContext returns the trace to pass to other processes that do part of the work.
	TraceContext(ctx context.Context) TraceParent
	// PluginStarted reports that a plugin started, or failed to. PluginEnded reports that a started one exited.
	PluginStarted(plugin string, took time.Duration, err error)
	PluginEnded(plugin string, crashed bool)
}

// CallStep is a traced step of a call.
type CallStep string

// The steps.
const (
	Deciding CallStep = "decide"            // policy and hooks
	Queueing CallStep = "wait for turn"     // over the agent's limits
	Asking   CallStep = "wait for approval" // waiting for a person
	Starting CallStep = "start plugin"      // or waiting for another call that starts it
	Calling  CallStep = "call plugin"
)

// RequestInfo describes the client's message that caused a call. Unknown fields are empty.
type RequestInfo struct {
	Method    string // of MCP; empty for other requests
	Tool      string // name used by the client
	Session   string // MCP session
	Version   string // MCP version
	Transport string // tcp or pipe
	CallID    string // the model's id for the call
}

type requestKey struct{}

// WithRequest returns a context for a call that carries the description of the client's message.
func WithRequest(ctx context.Context, r RequestInfo) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// RequestOf returns the description of the message that caused a call; empty if unknown.
func RequestOf(ctx context.Context) RequestInfo {
	r, _ := ctx.Value(requestKey{}).(RequestInfo)
	return r
}

// TraceParent identifies the caller's span by the values of the W3C headers traceparent and tracestate.
type TraceParent struct{ Parent, State string }

type traceParentKey struct{}

// WithTraceParent returns a context for calls that belong to the caller's trace. Invalid header values are ignored.
func WithTraceParent(ctx context.Context, t TraceParent) context.Context {
	const mostParent, mostState = 55, 512 // lengths in version 00 of the specification
	if len(t.Parent) != mostParent || strings.Trim(t.Parent, "0123456789abcdef-") != "" {
		return ctx
	}
	if len(t.State) > mostState || strings.ContainsFunc(t.State, func(r rune) bool { return r < ' ' || r > '~' }) {
		t.State = ""
	}
	return context.WithValue(ctx, traceParentKey{}, t)
}

// TraceParentOf returns the caller's span; empty if the context has none.
func TraceParentOf(ctx context.Context) TraceParent {
	t, _ := ctx.Value(traceParentKey{}).(TraceParent)
	return t
}

func (s *Session) traceCall(ctx context.Context, r audit.Record) (_ context.Context, end func(audit.Record, *Result)) {
	if s.host.options.Tracer == nil {
		return ctx, func(audit.Record, *Result) {}
	}
	return s.host.options.Tracer.TraceCall(ctx, r)
}

func (s *Session) traceStep(ctx context.Context, step CallStep) (_ context.Context, end func(error)) {
	return s.traceStepSince(ctx, step, time.Now())
}

func (s *Session) traceStepSince(ctx context.Context, step CallStep, began time.Time) (_ context.Context, end func(error)) {
	if s.host.options.Tracer == nil {
		return ctx, func(error) {}
	}
	return s.host.options.Tracer.TraceStep(ctx, step, began)
}

// minStartTrace is the minimum duration of a traced plugin start. Finding a running instance is faster.
const minStartTrace = time.Millisecond

// tracePluginCall traces a request to a plugin in two steps: the start of the plugin until started is called, and the
// call until end is called.
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
		t := TraceParentOf(ctx)
		if s.host.options.Tracer != nil {
			t = s.host.options.Tracer.TraceContext(calling)
		}
		req.TraceParent, req.TraceState = t.Parent, t.State
	}
	return started, func(err error) { endStep(err) }
}
