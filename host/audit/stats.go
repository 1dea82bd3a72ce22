package audit

import (
	"cmp"
	"math"
	"slices"
)

// Stats are the sums of one tool's records.
type Stats struct {
	Tool   string  `json:"tool"`
	Calls  int     `json:"calls"`
	Denied int     `json:"denied"`         // of them, those that were not made
	Failed int     `json:"failed"`         // of them, those that were made and ended with an error
	Open   int     `json:"open,omitempty"` // of them, those without an end
	Bytes  int     `json:"result_bytes"`
	P50    float64 `json:"p50_ms"` // of those that were made; 0 if none was
	P99    float64 `json:"p99_ms"`
}

// Summary sums records up by tool. The zero value is ready.
type Summary struct {
	tools map[string]*Stats
	times map[string][]float64
}

// Add counts a record.
func (s *Summary) Add(r Record) {
	if s.tools == nil {
		s.tools, s.times = map[string]*Stats{}, map[string][]float64{}
	}
	t := s.tools[r.Tool]
	if t == nil {
		t = &Stats{Tool: r.Tool}
		s.tools[r.Tool] = t
	}
	t.Calls++
	t.Bytes += r.Bytes
	switch {
	case r.Denied():
		t.Denied++
		return
	case r.IsOpen():
		t.Open++
		return
	case r.Error != "":
		t.Failed++
	}
	s.times[r.Tool] = append(s.times[r.Tool], r.Millis)
}

// Tools returns the sums, those of the tool with the most calls first.
func (s *Summary) Tools() []Stats {
	out := make([]Stats, 0, len(s.tools))
	for tool, t := range s.tools {
		times := s.times[tool]
		slices.Sort(times)
		t.P50, t.P99 = percentile(times, 50), percentile(times, 99)
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b Stats) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls),
			cmp.Compare(a.Tool, b.Tool))
	})
	return out
}

// percentile is the smallest of the sorted values that p per cent of them are not above.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(p/100*float64(len(sorted))))-1, 0)]
}
