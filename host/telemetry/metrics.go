package telemetry

import (
	"context"
	"errors"
	"runtime"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/trace"
)

// maxSeries limits the time series of a metric. Further series are combined under otel_metric_overflow.
const maxSeries = 5000

// otherTool replaces the names of unknown tools in metrics, since agents may invent any number of names.
const otherTool = "other"

// metricInstruments are the metrics that Telemetry updates itself.
type metricInstruments struct {
	meter              metric.Meter
	scraped            *sdkmetric.ManualReader // nil unless metrics are served
	calls, mcp, starts metric.Float64Histogram
	waiting, processes metric.Int64UpDownCounter
	crashes            metric.Int64Counter
}

func (t *Telemetry) createInstruments(m metric.Meter) error {
	t.meter = m
	var errs [9]error
	t.calls, errs[0] = m.Float64Histogram(callDuration, metric.WithUnit("s"),
		metric.WithDescription("How long calls took, by agent, tool, decision and outcome."),
		metric.WithExplicitBucketBoundaries(callBuckets()...))
	t.mcp, errs[1] = m.Float64Histogram(mcpDuration, metric.WithUnit("s"),
		metric.WithDescription("How long MCP clients' calls of tools took."),
		// As in the semantic conventions.
		metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300))
	t.starts, errs[2] = m.Float64Histogram(pluginStart, metric.WithUnit("s"),
		metric.WithDescription("How long starts of plugins took, by plugin and outcome."),
		metric.WithExplicitBucketBoundaries(callBuckets()...))
	t.waiting, errs[3] = m.Int64UpDownCounter(callsWaiting, metric.WithDescription("Waiting calls, by reason."))
	t.processes, errs[4] = m.Int64UpDownCounter(pluginRunning, metric.WithDescription("Plugin processes, by plugin."))
	t.crashes, errs[5] = m.Int64Counter(pluginCrashes,
		metric.WithDescription("Plugin processes that have ended by themselves, by plugin."))
	_, errs[6] = m.Int64ObservableCounter(spansCount, metric.WithDescription("Spans, by outcome."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			if t.isExporting() {
				o.Observe(t.queue.sent.Load(), metric.WithAttributes(outcomeLabel.String("sent")))
				o.Observe(t.queue.failed.Load(), metric.WithAttributes(outcomeLabel.String("failed")))
				o.Observe(t.queue.dropped.Load(), metric.WithAttributes(outcomeLabel.String("dropped")))
			}
			return nil
		}))
	errs[7] = t.AddGauge(memoryUsed, "By", "Memory that the host has from the system.", func() (float64, bool) {
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return float64(m.Sys - m.HeapReleased), true
	})
	errs[8] = t.AddGauge(goroutines, "{goroutine}", "Goroutines of the host.",
		func() (float64, bool) { return float64(runtime.NumGoroutine()), true })
	return errors.Join(errs[:]...)
}

// AddGauge adds a metric. Each export calls value; false means unknown. labels are alternating names and values.
func (t *Telemetry) AddGauge(name, unit, help string, value func() (float64, bool), labels ...string) error {
	if t == nil {
		return nil
	}
	var with []attribute.KeyValue
	for i := 0; i+1 < len(labels); i += 2 {
		with = append(with, attribute.String(labels[i], labels[i+1]))
	}
	set := metric.WithAttributeSet(attribute.NewSet(with...))
	_, err := t.meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(help),
		metric.WithFloat64Callback(func(_ context.Context, o metric.Float64Observer) error {
			if v, known := value(); known {
				o.Observe(v, set)
			}
			return nil
		}))
	return err
}

// outcomeAttribute returns the attribute for success or failure.
func outcomeAttribute(failed bool) attribute.KeyValue {
	if failed {
		return outcomeLabel.String("error")
	}
	return outcomeLabel.String("ok")
}

// PluginStarted counts a start of a plugin.
func (t *Telemetry) PluginStarted(plugin string, took time.Duration, err error) {
	ctx := context.Background()
	t.starts.Record(ctx, took.Seconds(), metric.WithAttributes(pluginLabel.String(plugin), outcomeAttribute(err != nil)))
	if err == nil {
		t.processes.Add(ctx, 1, metric.WithAttributes(pluginLabel.String(plugin)))
	}
}

// PluginEnded counts the end of a plugin.
func (t *Telemetry) PluginEnded(plugin string, crashed bool) {
	ctx, of := context.Background(), metric.WithAttributes(pluginLabel.String(plugin))
	t.processes.Add(ctx, -1, of)
	if crashed {
		t.crashes.Add(ctx, 1, of)
	}
}

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
	ctx, span := t.tracer.Start(ctx, chat+" "+toValidUTF8(model), trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(
		operationName.String(chat), providerName.String(provider), requestModel.String(toValidUTF8(model))))
	return ctx, func(read, written int64, err error) {
		if err == nil {
			span.SetAttributes(inputTokens.Int64(read), outputTokens.Int64(written))
		}
		t.endSpan(span, err)
	}
}
