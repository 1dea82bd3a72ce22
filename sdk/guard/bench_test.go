package guard

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkCommand decides on the labelled lines and tells the share of time that the slowest hundredth takes.
func BenchmarkCommand(b *testing.B) {
	lines := corpus(b, "everyday", "harmful", "outside")
	g := mustNew(b, everything())
	b.ReportAllocs()
	times := make([]time.Duration, 0, 1<<16)
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		decide(g, lines[i%len(lines)].Cmd)
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
}

// BenchmarkLongCommand decides on commands of 4 KiB: everyday lines after one another.
func BenchmarkLongCommand(b *testing.B) {
	lines := corpus(b, "everyday")
	var texts []string
	var text strings.Builder
	for _, l := range lines {
		if strings.Contains(l.Cmd, "<<") || strings.Contains(l.Cmd, "set -") {
			continue
		}
		if text.Len()+len(l.Cmd) > 4<<10 {
			texts = append(texts, text.String())
			text.Reset()
		}
		text.WriteString("( " + l.Cmd + "\n)\n")
	}
	g := mustNew(b, everything())
	b.ReportAllocs()
	times := make([]time.Duration, 0, 1<<16)
	for i := 0; b.Loop(); i++ {
		began := time.Now()
		decide(g, texts[i%len(texts)])
		times = append(times, time.Since(began))
	}
	slices.Sort(times)
	b.ReportMetric(float64(times[len(times)*99/100].Nanoseconds()), "p99-ns")
}
