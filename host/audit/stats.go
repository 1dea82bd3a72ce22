package audit

import (
	"cmp"
	"math"
	"slices"
)

// ToolStats are the statistics of one tool's calls.
type ToolStats struct {
	Tool   string  `json:"tool"`
	Calls  int     `json:"calls"`
	Denied int     `json:"denied"`         // refused calls
	Failed int     `json:"failed"`         // calls that were made and failed
	Open   int     `json:"open,omitempty"` // calls without an end
	Bytes  int     `json:"result_bytes"`
	P50    float64 `json:"p50_ms"` // of calls that were made; 0 without any
	P99    float64 `json:"p99_ms"`
}

// ToolStatsCollector collects statistics of calls by tool. The zero value is ready to use.
type ToolStatsCollector struct {
	tools map[string]*ToolStats
	times map[string][]float64
}

// AddRecord adds a call to the statistics.
func (s *ToolStatsCollector) AddRecord(r Record) {
	if s.tools == nil {
		s.tools, s.times = map[string]*ToolStats{}, map[string][]float64{}
	}
	t := s.tools[r.Tool]
	if t == nil {
		t = &ToolStats{Tool: r.Tool}
		s.tools[r.Tool] = t
	}
	t.Calls++
	t.Bytes += r.Bytes
	switch {
	case r.WasDenied():
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

// ToolStats returns the statistics by tool, the most called first.
func (s *ToolStatsCollector) ToolStats() []ToolStats {
	out := make([]ToolStats, 0, len(s.tools))
	for tool, t := range s.tools {
		times := s.times[tool]
		slices.Sort(times)
		t.P50, t.P99 = percentile(times, 50), percentile(times, 99)
		out = append(out, *t)
	}
	slices.SortFunc(out, func(a, b ToolStats) int {
		return cmp.Or(cmp.Compare(b.Calls, a.Calls),
			cmp.Compare(a.Tool, b.Tool))
	})
	return out
}

// percentile returns the p-th percentile of sorted values: the smallest value that is not below p percent of them.
func percentile(sorted []float64, p float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[max(int(math.Ceil(p/100*float64(len(sorted))))-1, 0)]
}
