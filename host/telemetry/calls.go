package telemetry

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

var _ session.Tracer = (*Telemetry)(nil)

// Call follows a call, as a part of what its caller traces.
func (t *Telemetry) TraceCall(ctx context.Context, r audit.Record) (context.Context, func(audit.Record, *session.Result)) {
	t.used.Store(true)
	req := session.RequestOf(ctx)
	called := valid(cmp.Or(req.Tool, r.Tool))
	ctx = joined(session.WithRequest(ctx, session.RequestInfo{})) // a call that this one makes has another request
	does, kind := executeTool, trace.SpanKindInternal
	if req.Method != "" {
		does, kind = req.Method, trace.SpanKindServer
	}
	ctx, span := t.tracer.Start(ctx, does+" "+called, trace.WithSpanKind(kind), trace.WithTimestamp(r.Time))
	return ctx, func(r audit.Record, result *session.Result) {
		unknown := result.Err != nil && result.Err.Code == pluginpb.CodeUnknownTool
		t.count(ctx, req, r, called, unknown)
		if !span.IsRecording() {
			return
		}
		if unknown {
			span.SetName(does) // names are few
		}
		span.SetAttributes(about(req, r, called)...)
		if result.Err != nil {
			kind := cmp.Or(valid(result.Err.Code), otherError)
			if req.Method != "" {
				kind = toolError
			}
			span.SetAttributes(errorType.String(kind), ourError.String(valid(result.Err.Code)))
			span.SetStatus(codes.Error, t.words(result.Err.Message))
		}
		if t.options.Content {
			span.SetAttributes(toolArguments.String(arguments(r.Args)))
			if result.Err == nil {
				span.SetAttributes(toolResult.String(t.words(cmp.Or(result.Text, string(result.Structured)))))
			}
		}
		span.End()
	}
}

// about is what is told of every call.
func about(req session.RequestInfo, r audit.Record, called string) []attribute.KeyValue {
	all := []attribute.KeyValue{
		operationName.String(executeTool), toolName.String(called), ourTool.String(valid(r.Tool)), ourAgent.String(r.Agent),
		ourSession.String(r.Session), ourOrigin.String(r.Origin), ourDecision.String(r.Decision),
	}
	for key, value := range map[attribute.Key]string{
		mcpMethod: req.Method, mcpSession: req.Session, mcpVersion: req.Version, transport: req.Transport,
		toolCallID: req.CallID, ourRule: r.Rule, ourAnswer: r.Answer,
	} {
		if value != "" {
			all = append(all, key.String(valid(value)))
		}
	}
	return all
}

// count counts a call.
func (t *Telemetry) count(ctx context.Context, req session.RequestInfo, r audit.Record, called string, unknown bool) {
	if unknown {
		r.Tool, called = otherTool, otherTool
	}
	failed, seconds := r.Error != "", r.Millis/1000
	t.calls.Record(ctx, seconds, metric.WithAttributeSet(attribute.NewSet(agentLabel.String(r.Agent),
		toolLabel.String(r.Tool), decisionLabel.String(r.Decision), outcome(failed))))
	if req.Method == "" {
		return
	}
	with := []attribute.KeyValue{mcpMethod.String(req.Method), toolName.String(called), operationName.String(executeTool),
		mcpVersion.String(req.Version), transport.String(req.Transport)}
	if failed {
		with = append(with, errorType.String(toolError))
	}
	t.mcp.Record(ctx, seconds, metric.WithAttributeSet(attribute.NewSet(with...)))
}

// Step follows a part of a call.
func (t *Telemetry) TraceStep(ctx context.Context, s session.Step, began time.Time) (context.Context, func(error)) {
	left := func() {}
	if what := map[session.Step]string{session.Asking: "approval", session.Queueing: "turn"}[s]; what != "" {
		of := metric.WithAttributes(forLabel.String(what))
		t.waiting.Add(ctx, 1, of)
		left = func() { t.waiting.Add(context.WithoutCancel(ctx), -1, of) }
	}
	ctx, span := t.tracer.Start(ctx, string(s), trace.WithTimestamp(began))
	return ctx, func(err error) {
		left()
		t.end(span, err)
	}
}

// end ends a span, which has failed with err unless that is nil.
func (t *Telemetry) end(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		kind := otherError
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			kind = errorTimeout
		case errors.Is(err, context.Canceled):
			kind = pluginpb.CodeCancelled
		}
		span.SetAttributes(errorType.String(kind))
		span.SetStatus(codes.Error, t.words(err.Error()))
	}
	span.End()
}

// Trace returns where the part of a call stands.
func (t *Telemetry) TraceContext(ctx context.Context) session.TraceParent {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return session.TraceParent{Parent: carrier["traceparent"], State: carrier["tracestate"]}
}

// joined returns a context for what is a part of what its caller traces, unless it is a part of something here.
func joined(ctx context.Context) context.Context {
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	from := session.TraceOf(ctx)
	return propagation.TraceContext{}.Extract(ctx,
		propagation.MapCarrier{"traceparent": from.Parent, "tracestate": from.State})
}

// window is how much of a text is looked through for secrets: more than is sent, so that none is cut in two.
const window = 4 * maxText

// words are a text as it may leave the machine; none unless an operator says so.
func (t *Telemetry) words(s string) string {
	if !t.options.Content {
		return ""
	}
	return redact.Text(valid(s[:min(len(s), window)]))
}

// valid is a text as it can be sent: one that is not UTF-8 would take all that is sent with it along.
func valid(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// arguments are a call's arguments as they may leave the machine.
func arguments(args map[string]any) string {
	out := make(map[string]any, len(args))
	for name, value := range args {
		if text, ok := value.(string); ok {
			value = text[:min(len(text), window)]
		}
		out[name] = redact.Value(name, value)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return ""
	}
	return valid(string(text))
}
