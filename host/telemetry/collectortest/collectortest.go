// Package collectortest simulates an OpenTelemetry collector for tests: it receives spans and metrics by OTLP over
// HTTP, and records them. It must not know who sends them.
package collectortest

import (
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	collectmetrics "go.opentelemetry.io/proto/otlp/collector/metrics/v1"
	collecttraces "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	common "go.opentelemetry.io/proto/otlp/common/v1"
	"google.golang.org/protobuf/proto"
)

// Collector is an OpenTelemetry collector that records received spans and metrics.
type Collector struct {
	*httptest.Server

	mu      sync.Mutex
	spans   []Span
	metrics map[string]float64
	headers []http.Header
	raw     strings.Builder
}

// Span is a received span.
type Span struct {
	Name, Trace, ID, Parent string // ids in hexadecimal
	Kind, Status            string // such as SPAN_KIND_SERVER and STATUS_CODE_ERROR
	Attributes              map[string]string
}

// StartCollector starts a collector; Close stops it.
func StartCollector() *Collector {
	c := &Collector{metrics: map[string]float64{}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/traces", func(w http.ResponseWriter, r *http.Request) {
		var m collecttraces.ExportTraceServiceRequest
		if c.decodeAndRecord(w, r, &m) {
			c.recordSpans(&m)
		}
	})
	mux.HandleFunc("POST /v1/metrics", func(w http.ResponseWriter, r *http.Request) {
		var m collectmetrics.ExportMetricsServiceRequest
		if c.decodeAndRecord(w, r, &m) {
			c.recordMetrics(&m)
		}
	})
	c.Server = httptest.NewServer(mux)
	return c
}

func (c *Collector) decodeAndRecord(w http.ResponseWriter, r *http.Request, m proto.Message) bool {
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = proto.Unmarshal(body, m)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	c.headers = append(c.headers, r.Header)
	return true
}

func (c *Collector) recordSpans(m *collecttraces.ExportTraceServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, resource := range m.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			for _, s := range scope.GetSpans() {
				c.spans = append(c.spans, Span{
					Name: s.GetName(), Trace: hex.EncodeToString(s.GetTraceId()), ID: hex.EncodeToString(s.GetSpanId()),
					Parent: hex.EncodeToString(s.GetParentSpanId()), Kind: s.GetKind().String(),
					Status: s.GetStatus().GetCode().String(), Attributes: attributeTexts(s.GetAttributes()),
				})
			}
		}
	}
}

func (c *Collector) recordMetrics(m *collectmetrics.ExportMetricsServiceRequest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	keep := func(name string, with []*common.KeyValue, value float64) {
		attributes := attributeTexts(with)
		c.metrics[name+fmt.Sprint(attributes)] = value // maps are printed in order
	}
	for _, resource := range m.GetResourceMetrics() {
		for _, scope := range resource.GetScopeMetrics() {
			for _, one := range scope.GetMetrics() {
				for _, p := range one.GetHistogram().GetDataPoints() {
					keep(one.GetName(), p.GetAttributes(), float64(p.GetCount()))
				}
				for _, p := range append(one.GetSum().GetDataPoints(), one.GetGauge().GetDataPoints()...) {
					keep(one.GetName(), p.GetAttributes(), p.GetAsDouble()+float64(p.GetAsInt()))
				}
			}
		}
	}
}

func attributeTexts(all []*common.KeyValue) map[string]string {
	out := map[string]string{}
	for _, one := range all {
		switch v := one.GetValue().GetValue().(type) {
		case *common.AnyValue_StringValue:
			out[one.GetKey()] = v.StringValue
		case *common.AnyValue_IntValue:
			out[one.GetKey()] = fmt.Sprint(v.IntValue)
		default:
			out[one.GetKey()] = one.GetValue().String()
		}
	}
	return out
}

// Spans returns the received spans.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Span(nil), c.spans...)
}

// SpansNamed returns the spans with a name.
func (c *Collector) SpansNamed(name string) (found []Span) {
	for _, s := range c.Spans() {
		if s.Name == name {
			found = append(found, s)
		}
	}
	return found
}

// Metrics returns the latest value of each metric, for a histogram its count. A key is the name followed by the
// attributes, printed as a map.
func (c *Collector) Metrics() map[string]float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]float64{}
	for name, value := range c.metrics {
		out[name] = value
	}
	return out
}

// RequestHeaders returns the headers of all requests.
func (c *Collector) RequestHeaders() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]http.Header(nil), c.headers...)
}

// HasReceivedText reports whether a text was received anywhere.
func (c *Collector) HasReceivedText(text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Contains(c.raw.String(), text)
}
