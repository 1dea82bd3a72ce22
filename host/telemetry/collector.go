package telemetry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	maxQueue    = 2048             // spans waiting or being sent
	maxBatch    = 512              // spans per request
	sendTimeout = 10 * time.Second // including retries
	maxAnswer   = 64 << 10         // bytes read of a response
	maxText     = 4096             // characters of an attribute
)

// startExport starts the export of spans and returns a reader that exports metrics.
func (t *Telemetry) startExport(about *resource.Resource) (metric.Reader, error) {
	o := t.options
	base, err := url.Parse(o.Endpoint)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("telemetry.endpoint is no http or https URL, such as https://collector.example.com:4318")
	}
	if base.Scheme == "http" && !isLoopback(base.Hostname()) && !o.Insecure {
		return nil, fmt.Errorf("telemetry.endpoint: %s would receive telemetry without TLS, and others could read it; "+
			"use https, or set telemetry.insecure to true", base.Host)
	}
	client := &http.Client{
		Timeout:   sendTimeout,
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// A redirect would send the headers elsewhere.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	spans, err := otlptracehttp.New(context.Background(),
		otlptracehttp.WithEndpointURL(base.JoinPath("v1/traces").String()), otlptracehttp.WithHeaders(o.Headers),
		otlptracehttp.WithHTTPClient(client), otlptracehttp.WithMaxResponseSize(maxAnswer),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{Enabled: true, InitialInterval: time.Second,
			MaxInterval: sendTimeout, MaxElapsedTime: sendTimeout}))
	if err != nil {
		return nil, fmt.Errorf("telemetry.endpoint: %w", err)
	}
	t.shutdownClient = spans.Shutdown
	t.queue.SpanProcessor = sdktrace.NewBatchSpanProcessor(&spanCountingExporter{spans, t}, sdktrace.WithMaxQueueSize(maxQueue),
		sdktrace.WithMaxExportBatchSize(maxBatch), sdktrace.WithExportTimeout(sendTimeout))
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxText
	t.spans = sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithSpanProcessor(t.queue),
		sdktrace.WithRawSpanLimits(limits), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Sample))))
	t.tracer = t.spans.Tracer(scopeName)

	figures, err := otlpmetrichttp.New(context.Background(),
		otlpmetrichttp.WithEndpointURL(base.JoinPath("v1/metrics").String()), otlpmetrichttp.WithHeaders(o.Headers),
		otlpmetrichttp.WithHTTPClient(client), otlpmetrichttp.WithMaxResponseSize(maxAnswer),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{Enabled: false})) // the next export has all values
	if err != nil {
		return nil, fmt.Errorf("telemetry.endpoint: %w", err)
	}
	return metric.NewPeriodicReader(&failureLoggingExporter{figures, t}, metric.WithTimeout(sendTimeout)), nil
}

// isLoopback reports whether a host name or address is this machine's loopback.
func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// spanQueue limits and counts the spans for the exporter. StartTelemetry's own queue drops spans without counting them.
type spanQueue struct {
	sdktrace.SpanProcessor
	waiting, sent, failed, dropped atomic.Int64
}

func (q *spanQueue) OnEnd(s sdktrace.ReadOnlySpan) {
	if !s.SpanContext().IsSampled() {
		return
	}
	if q.waiting.Add(1) > maxQueue {
		q.waiting.Add(-1)
		q.dropped.Add(1)
		return
	}
	q.SpanProcessor.OnEnd(s)
}

// spanCountingExporter counts exported spans.
type spanCountingExporter struct {
	sdktrace.SpanExporter
	*Telemetry
}

func (c *spanCountingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	n := int64(len(spans))
	c.queue.waiting.Add(-n)
	if err != nil {
		c.queue.failed.Add(n)
		c.warnExportFailure(err)
		return nil
	}
	c.queue.sent.Add(n)
	return nil
}

// failureLoggingExporter logs failed exports of metrics.
type failureLoggingExporter struct {
	metric.Exporter
	*Telemetry
}

func (e *failureLoggingExporter) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	if err := e.Exporter.Export(ctx, m); err != nil {
		e.warnExportFailure(err)
	}
	return nil
}
