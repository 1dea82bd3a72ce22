package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// benchMetric is one metric of a benchmark.
type benchMetric struct {
	key   string // such as call.cost-ms
	value float64
	bound string // such as <=0.15, or empty
}

func (f benchMetric) metricUnit() string { return f.key[strings.LastIndexAny(f.key, "-.")+1:] }

// metricName returns the key without benchmark and unit.
func (f benchMetric) metricName() string {
	name := f.key[strings.LastIndex(f.key, ".")+1:]
	return strings.TrimSuffix(strings.TrimSuffix(name, f.metricUnit()), "-")
}

func (f benchMetric) String() string {
	line := fmt.Sprintf("%-28s %10s %s", f.metricName(), strconv.FormatFloat(f.value, 'g', -1, 64), f.metricUnit())
	switch bound := strings.NewReplacer("<=", "at most ", ">=", "at least ").Replace(f.bound); {
	case bound != "" && !f.keepsBound():
		line += "   (" + bound + ": missed)"
	case bound != "":
		line += "   (" + bound + ")"
	}
	return line
}

func (f benchMetric) keepsBound() bool {
	bound, _ := strconv.ParseFloat(strings.TrimLeft(f.bound, "<>="), 64)
	return strings.HasPrefix(f.bound, "<=") && f.value <= bound || strings.HasPrefix(f.bound, ">=") && f.value >= bound
}

func (f benchMetric) moreIsBetter() bool {
	return f.metricUnit() == "speed" || strings.HasSuffix(f.metricUnit(), "/s")
}

// isDifference reports whether a figure is the difference of two other figures. Comparisons use the two others instead.
func (f benchMetric) isDifference() bool { return strings.HasSuffix(f.metricName(), "cost") }

var (
	benchmarkName = lazyregexp.New(`^Benchmark(\S+?)(-\d+)?(\s|$)`)
	metric        = lazyregexp.New(`\t\s*([-+0-9.e]+) ([^\s<>]+)([<>]=[0-9.]+)?`)
)

// parseMetrics parses the output of `go test -bench`. Tested programs may print between a benchmark's name and its
// metrics.
func parseMetrics(output string) (all []benchMetric) {
	benchmark := ""
	for line := range strings.Lines(output) {
		if name := benchmarkName().FindStringSubmatch(line); name != nil {
			benchmark = strings.ToLower(name[1])
		}
		for _, m := range metric().FindAllStringSubmatch(line, -1) {
			if value, err := strconv.ParseFloat(m[1], 64); err == nil && m[2] != "ns/op" && benchmark != "" {
				all = append(all, benchMetric{benchmark + "." + m[2], value, m[3]})
			}
		}
	}
	return all
}
