package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// TraceTurn starts the trace of an agent's turn.
func (t *Telemetry) TraceTurn(ctx context.Context, agent string) (_ context.Context, ended func(error)) {
	if !t.isExporting() {
		return ctx, func(error) {}
	}
	t.used.Store(true)
	ctx, span := t.tracer.Start(joinCallerTrace(ctx), invokeAgent+" "+agent,
		trace.WithAttributes(operationName.String(invokeAgent), agentName.String(agent), ourAgent.String(agent)))
	return ctx, func(err error) { t.endSpan(span, err) }
}

// TraceModel starts the trace of a request to a language model. Call ended with the token counts.
func (t *Telemetry) TraceModel(ctx context.Context, provider, model string) (_ context.Context,
	ended func(read, written int64, _ error)) {
	if !t.isExporting() {
		return ctx, func(int64, int64, error) {}
	}
	ctx, span := t.tracer.Start(ctx, chat+" "+validUTF8(model), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		operationName.String(chat), providerName.String(provider), requestModel.String(validUTF8(model))))
	return ctx, func(read, written int64, err error) {
		if err == nil {
			span.SetAttributes(inputTokens.Int64(read), outputTokens.Int64(written))
		}
		t.endSpan(span, err)
	}
}
