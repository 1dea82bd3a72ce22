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
	maxQueue    = 2048             // spans that wait for the collector, or are on their way to it
	maxBatch    = 512              // of them in one request
	sendTimeout = 10 * time.Second // of a request, with those that repeat it
	maxAnswer   = 64 << 10         // what is read of an answer, in bytes
	maxText     = 4096             // of an attribute, in characters
)

// send begins to send spans, and returns what reads metrics to send them.
func (t *Telemetry) send(about *resource.Resource) (metric.Reader, error) {
	o := t.options
	base, err := url.Parse(o.Endpoint)
	if err != nil || base.Host == "" || base.Scheme != "http" && base.Scheme != "https" {
		return nil, errors.New("telemetry.endpoint is no http or https URL, such as https://collector.example.com:4318")
	}
	if base.Scheme == "http" && !loopback(base.Hostname()) && !o.Insecure {
		return nil, fmt.Errorf("telemetry.endpoint: %s would be sent what calls do without TLS, for others on the way to "+
			"read; use https, or set telemetry.insecure to true", base.Host)
	}
	client := &http.Client{
		Timeout:   sendTimeout,
		Transport: http.DefaultTransport.(*http.Transport).Clone(),
		// Elsewhere the headers would be told to somebody else.
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
	t.cut = spans.Shutdown
	t.queue.SpanProcessor = sdktrace.NewBatchSpanProcessor(&counted{spans, t}, sdktrace.WithMaxQueueSize(maxQueue),
		sdktrace.WithMaxExportBatchSize(maxBatch), sdktrace.WithExportTimeout(sendTimeout))
	limits := sdktrace.NewSpanLimits()
	limits.AttributeValueLengthLimit = maxText
	t.spans = sdktrace.NewTracerProvider(sdktrace.WithResource(about), sdktrace.WithSpanProcessor(t.queue),
		sdktrace.WithRawSpanLimits(limits), sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(o.Sample))))
	t.tracer = t.spans.Tracer(scope)

	figures, err := otlpmetrichttp.New(context.Background(),
		otlpmetrichttp.WithEndpointURL(base.JoinPath("v1/metrics").String()), otlpmetrichttp.WithHeaders(o.Headers),
		otlpmetrichttp.WithHTTPClient(client), otlpmetrichttp.WithMaxResponseSize(maxAnswer),
		otlpmetrichttp.WithRetry(otlpmetrichttp.RetryConfig{Enabled: false})) // the next ones have all of it
	if err != nil {
		return nil, fmt.Errorf("telemetry.endpoint: %w", err)
	}
	return metric.NewPeriodicReader(&told{figures, t}, metric.WithTimeout(sendTimeout)), nil
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// queue lets so many spans into the processor below it that this never drops one itself, which nobody would hear of.
type queue struct {
	sdktrace.SpanProcessor
	waiting, sent, failed, dropped atomic.Int64
}

func (q *queue) OnEnd(s sdktrace.ReadOnlySpan) {
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

// counted counts what the collector takes.
type counted struct {
	sdktrace.SpanExporter
	*Telemetry
}

func (c *counted) Shutdown(ctx context.Context) error { return c.SpanExporter.Shutdown(ctx) }

func (c *counted) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := c.SpanExporter.ExportSpans(ctx, spans)
	n := int64(len(spans))
	c.queue.waiting.Add(-n)
	if err != nil {
		c.queue.failed.Add(n)
		c.say(err)
		return nil
	}
	c.queue.sent.Add(n)
	return nil
}

// told says when the collector does not take metrics.
type told struct {
	metric.Exporter
	*Telemetry
}

func (e *told) Export(ctx context.Context, m *metricdata.ResourceMetrics) error {
	if err := e.Exporter.Export(ctx, m); err != nil {
		e.say(err)
	}
	return nil
}
