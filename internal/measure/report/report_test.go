package main

import (
	"maps"
	"path/filepath"
	"slices"
	"testing"
)

func TestParseReadsMetricsAndBounds(t *testing.T) {
	got := parseMetrics("goos: linux\ncpu: any\n" +
		"BenchmarkCall-2   \t    5000\t         0 ns/op\t         0.4213 call-ms\t         0.39 cost-ms<=0.15\n" +
		"BenchmarkMCP/start-2 \tthe server writes a line\n" +
		"      25\t        31.50 picoclaw_first_read-ms\t  1.2e-05 exec-speed>=0.5\nPASS\n")
	want := []benchMetric{{"call.call-ms", 0.4213, ""}, {"call.cost-ms", 0.39, "<=0.15"},
		{"mcp/start.picoclaw_first_read-ms", 31.5, ""}, {"mcp/start.exec-speed", 1.2e-05, ">=0.5"}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestFigurePrintsMissedBound(t *testing.T) {
	for f, want := range map[benchMetric]string{
		{"call.cost-ms", 0.42, "<=0.15"}:          "cost                               0.42 ms   (at most 0.15: missed)",
		{"network/a.by_name-speed", 0.7, ">=0.6"}: "by_name                             0.7 speed   (at least 0.6)",
		{"audit/write.entry-ms", 0.01, ""}:        "entry                              0.01 ms",
	} {
		if got := f.String(); got != want {
			t.Errorf("got  %q\nwant %q", got, want)
		}
	}
}

func TestCompareFailsOnWorseFigures(t *testing.T) {
	saved := &benchResults{Machine: benchMachine{CPU: "any", Cores: 2}, Figures: map[string]float64{
		"a.read-ms": 1, "a.cost-ms": 0.1, "a.exec-speed": 1, "a.calls-/s": 100}}
	for name, test := range map[string]struct {
		change map[string]float64
		fails  bool
	}{
		"slower by 40 %":           {map[string]float64{"a.read-ms": 1.4}, false},
		"slower by 60 %":           {map[string]float64{"a.read-ms": 1.6}, true},
		"faster":                   {map[string]float64{"a.read-ms": 0.1, "a.exec-speed": 9, "a.calls-/s": 900}, false},
		"less speed":               {map[string]float64{"a.exec-speed": 0.6}, true},
		"fewer calls in a second":  {map[string]float64{"a.calls-/s": 60}, true},
		"larger difference":        {map[string]float64{"a.cost-ms": 0.5}, false},
		"figure that is not saved": {map[string]float64{"b.read-ms": 7}, false},
	} {
		t.Run(name, func(t *testing.T) {
			now := &benchResults{Machine: saved.Machine, Figures: maps.Clone(saved.Figures)}
			maps.Copy(now.Figures, test.change)
			all := map[string][]benchMetric{}
			for key, value := range now.Figures {
				all[key] = []benchMetric{{key: key, value: value}}
			}
			if err := compareResults(saved, now, all); (err != nil) != test.fails {
				t.Error(err)
			}
		})
	}
	if err := compareResults(saved, &benchResults{Machine: benchMachine{CPU: "another"}}, nil); err == nil {
		t.Error("figures of two machines were compared")
	}
}

func TestSaveOfOnePartKeepsOthers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "bench.json")
	saved := &benchResults{Figures: map[string]float64{"fleet/nats.read-ms": 1, "fleet.old-ms": 2,
		"fleetscale/single.call-ms": 3}}
	now := &benchResults{Figures: map[string]float64{"fleet/nats.read-ms": 4}}
	if err := now.saveResults(file, saved, map[string]bool{"fleetscale": true}); err != nil {
		t.Fatal(err)
	}
	got, err := loadResults(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]float64{"fleet/nats.read-ms": 4, "fleetscale/single.call-ms": 3}
	if !maps.Equal(got.Figures, want) {
		t.Errorf("got %v, want %v", got.Figures, want)
	}
	saved.Machine.Cores = 64
	if err := now.saveResults(file, saved, map[string]bool{"fleetscale": true}); err == nil {
		t.Error("figures of two machines were mixed")
	}
}
