package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/trace"
)

// Turn follows a turn of an agent's.
func (t *Telemetry) Turn(ctx context.Context, agent string) (_ context.Context, ended func(error)) {
	if !t.sends() {
		return ctx, func(error) {}
	}
	t.used.Store(true)
	ctx, span := t.tracer.Start(joined(ctx), invokeAgent+" "+agent,
		trace.WithAttributes(operationName.String(invokeAgent), agentName.String(agent), ourAgent.String(agent)))
	return ctx, func(err error) { t.end(span, err) }
}

// Model follows a request to a language model, which is told how many tokens were read and written.
func (t *Telemetry) Model(ctx context.Context, provider, model string) (_ context.Context,
	ended func(read, written int64, _ error)) {
	if !t.sends() {
		return ctx, func(int64, int64, error) {}
	}
	ctx, span := t.tracer.Start(ctx, chat+" "+valid(model), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		operationName.String(chat), providerName.String(provider), requestModel.String(valid(model))))
	return ctx, func(read, written int64, err error) {
		if err == nil {
			span.SetAttributes(inputTokens.Int64(read), outputTokens.Int64(written))
		}
		t.end(span, err)
	}
}
