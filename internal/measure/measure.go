// Package measure compares alternatives within one benchmark. They run in turn, so that all of them meet the same
// load of the machine, and their medians are reported as metrics of the benchmark.
//
// A metric's unit names the figure, and may end in the bound that it is meant to keep: "cost-ms<=0.15". Command report
// runs the benchmarks and reads these metrics.
package measure

import (
	"slices"
	"testing"
	"time"
)

// warmUp is the minimum time that cases run before they are timed.
const warmUp = 200 * time.Millisecond

// BenchCase is one of the alternatives that a benchmark compares.
type BenchCase struct {
	Name    string       // its median is reported as NAME-ms
	Bound   string       // expected bound of the median, such as <=0.5; may be empty
	Repeat  int          // number of timed runs per turn; 0 is 1
	Prepare func() error // called before each turn and not timed; may be nil
	Run     func() error
}

// RunInTurns runs cases in turn while the benchmark lasts, reports their medians and returns their durations.
func RunInTurns(b *testing.B, cases ...BenchCase) []RunDurations {
	b.Helper()
	times := make([]RunDurations, len(cases))
	round := func() {
		for i, c := range cases {
			if c.Prepare != nil {
				b.StopTimer()
				if err := c.Prepare(); err != nil {
					b.Fatalf("prepare %s: %v", c.Name, err)
				}
				b.StartTimer()
			}
			for range max(1, c.Repeat) {
				if err := times[i].TimeRun(c.Run); err != nil {
					b.Fatalf("%s: %v", c.Name, err)
				}
			}
		}
	}
	for began := time.Now(); ; {
		round()
		if time.Since(began) > warmUp {
			break
		}
	}
	clear(times)
	for b.Loop() {
		round()
	}
	for i, c := range cases {
		times[i].ReportMedian(b, c.Name+"-ms"+c.Bound)
	}
	return times
}

// RunDurations are the durations of one case, one per run.
type RunDurations []time.Duration

// TimeRun runs f and adds its duration.
func (t *RunDurations) TimeRun(f func() error) error {
	began := time.Now()
	err := f()
	*t = append(*t, time.Since(began))
	return err
}

// Quantile returns the duration in milliseconds that a fraction q of the runs does not exceed.
func (t RunDurations) Quantile(q float64) float64 {
	sorted := slices.Sorted(slices.Values(t))
	return Milliseconds(sorted[int(float64(len(sorted)-1)*q)])
}

// Median returns the median in milliseconds.
func (t RunDurations) Median() float64 { return t.Quantile(0.5) }

// ReportMedian reports the median as a metric with a unit, instead of the benchmark's ns/op.
func (t RunDurations) ReportMedian(b *testing.B, unit string) {
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(t.Median(), unit)
}

// Milliseconds converts a duration to milliseconds.
func Milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
