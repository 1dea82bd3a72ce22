// Package telemetry tells what a host does in OpenTelemetry's traces and metrics: it sends them to a collector over
// OTLP/HTTP, and serves the metrics as Prometheus reads them.
//
// A [Telemetry] is a host's Tracer. A call never waits for it: what ends is put into a queue of bounded length, one
// goroutine sends what is in there, and what finds it full is dropped and counted. So a collector that hangs, refuses
// or answers with rubbish costs memory for the queue and a line in the log now and then. The arguments and results of
// calls leave the machine only when an operator says so, without what looks like a secret.
//
// Each figure is observed once, by OpenTelemetry's API, whoever reads it. The package must not know how calls are made
// or decided on, nor what a configuration looks like.
package telemetry

import (
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

// Options are what is told, and to whom. The names of their settings are those in errors.
type Options struct {
	Endpoint string            // telemetry.endpoint, the base of a collector's URLs; empty for none
	Headers  map[string]string // that it is sent
	Insecure bool              // telemetry.insecure: it may be on another machine without TLS
	Content  bool              // arguments, results and the words of errors are sent too
	Sample   float64           // telemetry.sample, of the calls that no client traces, from 0 to 1
	Scraped  bool              // metrics are served as well
	Version  string            // of the program
	Logger   hclog.Logger
}

// Telemetry follows calls. It may be used concurrently, and a nil one follows nothing.
type Telemetry struct {
	options Options
	tracer  trace.Tracer
	spans   *sdktrace.TracerProvider // nil without a collector
	cut     func(context.Context) error
	queue   *queue
	meters  *metric.MeterProvider
	metrics
	used atomic.Bool  // there is something to tell
	said atomic.Int64 // when it was last said that the collector fails, in Unix nanoseconds
}

// scope is the name of what has observed all this.
const scope = "github.com/picoclaw/picoclaw"

// Open begins. It is nil where nobody is told anything.
func Open(o Options) (*Telemetry, error) {
	if o.Endpoint == "" && !o.Scraped {
		return nil, nil
	}
	if o.Logger == nil {
		o.Logger = hclog.NewNullLogger()
	}
	if o.Sample < 0 || o.Sample > 1 {
		return nil, fmt.Errorf("telemetry.sample is %g; it is a part of the calls, from 0 to 1", o.Sample)
	}
	t := &Telemetry{options: o, tracer: noop.NewTracerProvider().Tracer(scope), queue: &queue{}}
	// It is the library's one place for errors that have no other way, and prints them if nobody takes them.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(t.say))
	about, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(
		serviceName.String("picoclaw"), serviceVersion.String(o.Version), serviceID.String(strings.ToLower(rand.Text()))),
		resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	readers := []metric.Option{metric.WithResource(about), metric.WithExemplarFilter(exemplar.AlwaysOffFilter),
		metric.WithCardinalityLimit(maxSeries)}
	if o.Endpoint != "" {
		reader, err := t.send(about)
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
	return t, t.observe(t.meters.Meter(scope))
}

// sends reports whether there is a collector.
func (t *Telemetry) sends() bool { return t != nil && t.spans != nil }

// closeWithin is how long the collector may take over what is still to be sent at the end.
const closeWithin = 2 * time.Second

// Close sends what is left, as far as the collector takes it soon.
func (t *Telemetry) Close(ctx context.Context) {
	if t == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, closeWithin)
	defer cancel()
	if !t.used.Load() {
		cancel()
	}
	var errs [2]error
	var both sync.WaitGroup
	both.Go(func() { errs[0] = t.meters.Shutdown(ctx) })
	if t.sends() {
		both.Go(func() {
			errs[1] = errors.Join(t.spans.Shutdown(ctx), t.cut(context.WithoutCancel(ctx))) // ends what is on its way
		})
	}
	both.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.options.Logger.Debug("telemetry did not end in time", "error", err)
	}
	if lost := t.queue.failed.Load() + t.queue.dropped.Load() + t.queue.waiting.Load(); lost > 0 {
		t.options.Logger.Warn("spans were not taken by the collector: telemetry.endpoint", "spans", lost)
	}
}

// sayInterval is how often it is said that the collector fails.
const sayInterval = time.Minute

// say logs that something could not be told, now and then. A collector's own words are cut and made harmless.
func (t *Telemetry) say(err error) {
	last, now := t.said.Load(), time.Now().UnixNano()
	if now-last < int64(sayInterval) || !t.said.CompareAndSwap(last, now) {
		return
	}
	t.options.Logger.Warn("telemetry is not sent; calls go on: look at telemetry.endpoint", "error",
		fmt.Sprintf("%.300q", err.Error()))
}
