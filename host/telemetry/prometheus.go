package telemetry

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// textFormat is the media type of Prometheus' text exposition format.
const textFormat = "text/plain; version=0.0.4; charset=utf-8"

// ServeHTTP serves the metrics in Prometheus' text exposition format.
func (t *Telemetry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if t == nil || t.scraped == nil {
		http.NotFound(w, r)
		return
	}
	var collected metricdata.ResourceMetrics
	if err := t.scraped.Collect(r.Context(), &collected); err != nil {
		http.Error(w, "collect metrics: "+err.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", textFormat)
	_, _ = w.Write(appendMetrics(nil, &collected))
}

// appendMetrics appends all metrics, sorted by name. It skips metric types that Telemetry does not create.
func appendMetrics(text []byte, collected *metricdata.ResourceMetrics) []byte {
	var all []metricdata.Metrics
	for _, scope := range collected.ScopeMetrics {
		all = append(all, scope.Metrics...)
	}
	slices.SortFunc(all, func(a, b metricdata.Metrics) int { return cmp.Compare(a.Name, b.Name) })
	for _, m := range all {
		switch data := m.Data.(type) {
		case metricdata.Histogram[float64]:
			text = appendHistogram(text, m, data.DataPoints)
		case metricdata.Gauge[float64]:
			text = appendCounterOrGauge(text, m, "gauge", data.DataPoints)
		case metricdata.Sum[int64]:
			kind := "gauge"
			if data.IsMonotonic {
				kind = "counter"
			}
			text = appendCounterOrGauge(text, m, kind, data.DataPoints)
		}
	}
	return text
}

func appendCounterOrGauge[N int64 | float64](text []byte, m metricdata.Metrics, kind string, points []metricdata.DataPoint[N]) []byte {
	name := metricName(m)
	if kind == "counter" {
		name += "_total"
	}
	var series []string
	for _, p := range points {
		series = append(series, formatSample(name, labelText(p.Attributes), float64(p.Value)))
	}
	return appendFamily(text, name, kind, m.Description, series)
}

// appendHistogram appends a histogram, whose buckets are cumulative in Prometheus' format.
func appendHistogram(text []byte, m metricdata.Metrics, points []metricdata.HistogramDataPoint[float64]) []byte {
	name := metricName(m)
	var series []string
	for _, p := range points {
		labels, below := labelText(p.Attributes), uint64(0)
		prefix := labels
		if prefix != "" {
			prefix += ","
		}
		var lines strings.Builder
		for i, bound := range p.Bounds {
			below += p.BucketCounts[i]
			lines.WriteString(formatSample(name+"_bucket", prefix+`le="`+formatFloat(bound)+`"`, float64(below)))
		}
		lines.WriteString(formatSample(name+"_bucket", prefix+`le="+Inf"`, float64(p.Count)))
		lines.WriteString(formatSample(name+"_sum", labels, p.Sum))
		lines.WriteString(formatSample(name+"_count", labels, float64(p.Count)))
		series = append(series, lines.String())
	}
	return appendFamily(text, name, "histogram", m.Description, series)
}

// appendFamily appends a metric's comments and its series, sorted by labels.
func appendFamily(text []byte, name, kind, help string, series []string) []byte {
	if len(series) == 0 {
		return text
	}
	slices.Sort(series)
	help = strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(toValidUTF8(help))
	return fmt.Appendf(text, "# HELP %s %s\n# TYPE %s %s\n%s", name, help, name, kind, strings.Join(series, ""))
}

// formatSample returns a line with name, labels and value.
func formatSample(name, labels string, value float64) string {
	if labels != "" {
		name += "{" + labels + "}"
	}
	return name + " " + formatFloat(value) + "\n"
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// labelText formats attributes as Prometheus labels, sorted by name.
func labelText(attributes attribute.Set) string {
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	labels := make([]string, 0, attributes.Len())
	for _, a := range attributes.ToSlice() {
		labels = append(labels, escapeName(string(a.Key))+`="`+escape.Replace(toValidUTF8(a.Value.String()))+`"`)
	}
	return strings.Join(labels, ",")
}

// metricName returns a metric's name in Prometheus, which ends with the unit.
func metricName(m metricdata.Metrics) string {
	name := escapeName(m.Name)
	if unit := map[string]string{"s": "seconds", "By": "bytes"}[m.Unit]; unit != "" {
		name += "_" + unit
	}
	return name
}

// escapeName replaces characters that Prometheus does not allow in names.
func escapeName(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' {
			return r
		}
		return '_'
	}, name)
}
