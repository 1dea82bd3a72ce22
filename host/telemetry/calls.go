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

// TraceCall starts the trace of a tool call in the caller's trace. Call the returned function when the call ends.
func (t *Telemetry) TraceCall(ctx context.Context, r audit.Record) (context.Context, func(audit.Record, *session.Result)) {
	t.used.Store(true)
	req := session.RequestOf(ctx)
	called := toValidUTF8(cmp.Or(req.Tool, r.Tool))
	ctx = joinCallerTrace(session.WithRequest(ctx, session.RequestInfo{})) // nested calls have another request
	does, kind := executeTool, trace.SpanKindInternal
	if req.Method != "" {
		does, kind = req.Method, trace.SpanKindServer
	}
	ctx, span := t.tracer.Start(ctx, does+" "+called, trace.WithSpanKind(kind), trace.WithTimestamp(r.Time))
	return ctx, func(r audit.Record, result *session.Result) {
		unknown := result.Err != nil && result.Err.Code == pluginpb.CodeUnknownTool
		t.recordCallMetrics(ctx, req, r, called, unknown)
		if !span.IsRecording() {
			return
		}
		if unknown {
			span.SetName(does) // limited number of names
		}
		span.SetAttributes(callAttributes(req, r, called)...)
		if result.Err != nil {
			kind := cmp.Or(toValidUTF8(result.Err.Code), otherError)
			if req.Method != "" {
				kind = toolError
			}
			span.SetAttributes(errorType.String(kind), ourError.String(toValidUTF8(result.Err.Code)))
			span.SetStatus(codes.Error, t.redactContent(result.Err.Message))
		}
		if t.options.Content {
			span.SetAttributes(toolArguments.String(redactArguments(r.Args)))
			if result.Err == nil {
				span.SetAttributes(toolResult.String(t.redactContent(cmp.Or(result.Text, string(result.Structured)))))
			}
		}
		span.End()
	}
}

// callAttributes returns the attributes that every traced call has.
func callAttributes(req session.RequestInfo, r audit.Record, called string) []attribute.KeyValue {
	all := []attribute.KeyValue{
		operationName.String(executeTool), toolName.String(called), ourTool.String(toValidUTF8(r.Tool)), ourAgent.String(r.Agent),
		ourSession.String(r.Session), ourOrigin.String(r.Origin), ourDecision.String(r.Decision),
	}
	for key, value := range map[attribute.Key]string{
		mcpMethod: req.Method, mcpSession: req.Session, mcpVersion: req.Version, transport: req.Transport,
		toolCallID: req.CallID, ourRule: r.Rule, ourAnswer: r.Answer,
	} {
		if value != "" {
			all = append(all, key.String(toValidUTF8(value)))
		}
	}
	return all
}

// recordCallMetrics updates the metrics after a call.
func (t *Telemetry) recordCallMetrics(ctx context.Context, req session.RequestInfo, r audit.Record, called string, unknown bool) {
	if unknown {
		r.Tool, called = otherTool, otherTool
	}
	failed, seconds := r.Error != "", r.Millis/1000
	t.calls.Record(ctx, seconds, metric.WithAttributeSet(attribute.NewSet(agentLabel.String(r.Agent),
		toolLabel.String(r.Tool), decisionLabel.String(r.Decision), outcomeAttribute(failed))))
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

// TraceStep starts the trace of one step of a call.
func (t *Telemetry) TraceStep(ctx context.Context, s session.CallStep, began time.Time) (context.Context, func(error)) {
	left := func() {}
	if what := map[session.CallStep]string{session.Asking: "approval", session.Queueing: "turn"}[s]; what != "" {
		of := metric.WithAttributes(forLabel.String(what))
		t.waiting.Add(ctx, 1, of)
		left = func() { t.waiting.Add(context.WithoutCancel(ctx), -1, of) }
	}
	ctx, span := t.tracer.Start(ctx, string(s), trace.WithTimestamp(began))
	return ctx, func(err error) {
		left()
		t.endSpan(span, err)
	}
}

// endSpan ends a span. With a non-nil err it marks the span as failed.
func (t *Telemetry) endSpan(span trace.Span, err error) {
	if err != nil && span.IsRecording() {
		kind := otherError
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			kind = errorTimeout
		case errors.Is(err, context.Canceled):
			kind = pluginpb.CodeCancelled
		}
		span.SetAttributes(errorType.String(kind))
		span.SetStatus(codes.Error, t.redactContent(err.Error()))
	}
	span.End()
}

// TraceContext returns the current span's identifiers, for propagation to other processes.
func (t *Telemetry) TraceContext(ctx context.Context) session.TraceParent {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return session.TraceParent{Parent: carrier["traceparent"], State: carrier["tracestate"]}
}

// joinCallerTrace returns a context with the trace that the caller propagated, unless ctx has a local span.
func joinCallerTrace(ctx context.Context) context.Context {
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	from := session.TraceParentOf(ctx)
	return propagation.TraceContext{}.Extract(ctx,
		propagation.MapCarrier{"traceparent": from.Parent, "tracestate": from.State})
}

// redactWindow is how much of a text is searched for secrets. It exceeds maxText, so that no secret is cut in two.
const redactWindow = 4 * maxText

// redactContent returns text without secrets; empty if the configuration does not allow to send content.
func (t *Telemetry) redactContent(s string) string {
	if !t.options.Content {
		return ""
	}
	return redact.RedactText(toValidUTF8(s[:min(len(s), redactWindow)]))
}

// toValidUTF8 replaces invalid UTF-8, since it would invalidate a whole export request.
func toValidUTF8(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }

// redactArguments returns a call's redacted arguments.
func redactArguments(args map[string]any) string {
	out := make(map[string]any, len(args))
	for name, value := range args {
		if text, ok := value.(string); ok {
			value = text[:min(len(text), redactWindow)]
		}
		out[name] = redact.RedactValue(name, value)
	}
	text, err := json.Marshal(out)
	if err != nil {
		return ""
	}
	return toValidUTF8(string(text))
}

// Names of the semantic conventions for GenAI and MCP, still in development, as of
// github.com/open-telemetry/semantic-conventions-genai at 0393513c908bf895e7b3ec480a2c1eb073c584af, docs/gen-ai.
const (
	operationName  = attribute.Key("gen_ai.operation.name")
	toolName       = attribute.Key("gen_ai.tool.name")
	toolCallID     = attribute.Key("gen_ai.tool.call.id")
	toolArguments  = attribute.Key("gen_ai.tool.call.arguments")
	toolResult     = attribute.Key("gen_ai.tool.call.result")
	agentName      = attribute.Key("gen_ai.agent.name")
	providerName   = attribute.Key("gen_ai.provider.name")
	requestModel   = attribute.Key("gen_ai.request.model")
	inputTokens    = attribute.Key("gen_ai.usage.input_tokens")
	outputTokens   = attribute.Key("gen_ai.usage.output_tokens")
	mcpMethod      = attribute.Key("mcp.method.name")
	mcpSession     = attribute.Key("mcp.session.id")
	mcpVersion     = attribute.Key("mcp.protocol.version")
	transport      = attribute.Key("network.transport")
	errorType      = attribute.Key("error.type")
	serviceName    = attribute.Key("service.name")
	serviceVersion = attribute.Key("service.version")
	serviceID      = attribute.Key("service.instance.id")

	executeTool = "execute_tool"
	invokeAgent = "invoke_agent"
	chat        = "chat"

	toolError    = "tool_error" // error.type of a failed result
	otherError   = "_OTHER"
	errorTimeout = "timeout"

	mcpDuration = "mcp.server.operation.duration"
	memoryUsed  = "go.memory.used"
	goroutines  = "go.goroutine.count"
)

// The names that are picoclaw's own.
const (
	ourTool     = attribute.Key("picoclaw.tool") // the full name
	ourAgent    = attribute.Key("picoclaw.agent")
	ourSession  = attribute.Key("picoclaw.session")
	ourOrigin   = attribute.Key("picoclaw.origin")
	ourDecision = attribute.Key("picoclaw.decision")
	ourRule     = attribute.Key("picoclaw.rule")
	ourAnswer   = attribute.Key("picoclaw.answer")
	ourError    = attribute.Key("picoclaw.error.code")

	callDuration  = "picoclaw.call.duration"
	callsWaiting  = "picoclaw.calls.waiting"
	pluginStart   = "picoclaw.plugin.start.duration"
	pluginCrashes = "picoclaw.plugin.crashes"
	pluginRunning = "picoclaw.plugin.processes"
	spansCount    = "picoclaw.telemetry.spans"

	// Labels of metrics.
	agentLabel    = attribute.Key("agent")
	toolLabel     = attribute.Key("tool")
	decisionLabel = attribute.Key("decision")
	outcomeLabel  = attribute.Key("outcome")
	pluginLabel   = attribute.Key("plugin")
	forLabel      = attribute.Key("for")
)

// callBuckets returns the bucket bounds for calls and plugin starts, in seconds.
func callBuckets() []float64 { return []float64{0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10, 60} }
