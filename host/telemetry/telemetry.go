// Package telemetry exports traces and metrics with StartTelemetry: to a collector over OTLP/HTTP, and as a Prometheus
// endpoint.
//
// A [Telemetry] is a host's Tracer. It never delays calls: finished spans enter a bounded queue, one goroutine sends
// them, and spans that find the queue full are dropped and counted. A broken collector costs only that memory and an
// occasional log message. Arguments and results are sent only if enabled, after redaction.
//
// The package must not know how calls are made or decided, nor the format of the configuration.
package telemetry

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/exemplar"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// Options configure a [Telemetry]. Errors use the names of the configuration settings.
type Options struct {
	Endpoint string            // telemetry.endpoint, base URL of a collector; may be empty
	Headers  map[string]string // for the collector
	Insecure bool              // telemetry.insecure: allow a remote collector without TLS
	Content  bool              // also send arguments, results and error texts
	Sample   float64           // telemetry.sample, of calls without a client's trace, from 0 to 1
	Scraped  bool              // serve metrics too
	Version  string            // of the program
	Logger   hclog.Logger
}

// Telemetry traces and counts calls. A nil Telemetry does nothing. It is safe for concurrent use.
type Telemetry struct {
	options        Options
	tracer         trace.Tracer
	spans          *sdktrace.TracerProvider // nil without a collector
	shutdownClient func(context.Context) error
	queue          *spanQueue
	meters         *metric.MeterProvider
	metricInstruments
	used        atomic.Bool  // there is something to send
	lastWarning atomic.Int64 // time of the last warning, in Unix nanoseconds
}

// scopeName is the instrumentation scope.
const scopeName = "github.com/picoclaw/picoclaw"

// StartTelemetry starts telemetry; nil if the options export nothing.
func StartTelemetry(o Options) (*Telemetry, error) {
	if o.Endpoint == "" && !o.Scraped {
		return nil, nil
	}
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Sample < 0 || o.Sample > 1 {
		return nil, fmt.Errorf("telemetry.sample is %g; it is a part of the calls, from 0 to 1", o.Sample)
	}
	t := &Telemetry{options: o, tracer: noop.NewTracerProvider().Tracer(scopeName), queue: &spanQueue{}}
	// The library would print these errors by default.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.warnExportFailure))
	about, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(
		serviceName.String("picoclaw"), serviceVersion.String(o.Version), serviceID.String(strings.ToLower(rand.Text()))),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	readers := []metric.Option{metric.WithResource(about), metric.WithExemplarFilter(exemplar.AlwaysOffFilter),
		metric.WithCardinalityLimit(maxSeries)}
	if o.Endpoint != "" {
		reader, err := t.startExport(about)
		if err != nil {
			return nil, err
		}
		readers = append(readers, metric.WithReader(reader))
	}
	if o.Scraped {
		t.scraped = metric.NewManualReader()
		readers = append(readers, metric.WithReader(t.scraped))
	}
	t.meters = metric.NewMeterProvider(readers...)
	return t, t.createInstruments(t.meters.Meter(scopeName))
}

// isExporting reports whether spans are exported to a collector.
func (t *Telemetry) isExporting() bool { return t != nil && t.spans != nil }

// closeTimeout limits the export of remaining data at the end.
const closeTimeout = 2 * time.Second

// Close exports the remaining data, within closeTimeout.
func (t *Telemetry) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	if !t.used.Load() {
		cancel()
	}
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() { errs[0] = t.meters.Shutdown(ctx) })
	if t.isExporting() {
		both.Go(func() {
			errs[1] = errors.Join(t.spans.Shutdown(ctx), t.shutdownClient(context.WithoutCancel(ctx))) // aborts requests
		})
	}
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.options.Logger.Debug("telemetry did not end in time", "error", err)
	}
	if lost := t.queue.failed.Load() + t.queue.dropped.Load() + t.queue.waiting.Load(); lost > 0 {
		t.options.Logger.Warn("the collector (telemetry.endpoint) did not accept spans", "spans", lost)
	}
}

// warnInterval is the minimum time between warnings about failed exports.
const warnInterval = time.Minute

// warnExportFailure logs a failed export, at most once per warnInterval. It shortens and quotes the collector's text.
func (t *Telemetry) warnExportFailure(err error) {
	last, now := t.lastWarning.Load(), time.Now().UnixNano()
	if now-last < int64(warnInterval) || !t.lastWarning.CompareAndSwap(last, now) {
		return
	}
	t.options.Logger.Warn("telemetry is not sent; calls continue; check telemetry.endpoint", "error",
		fmt.Sprintf("%.300q", err.Error()))
}
