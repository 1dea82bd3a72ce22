// Command report runs the benchmarks of `make bench` and prints their figures beside the bounds that they are meant to
// keep. It judges nothing unless it is asked to compare them with figures that were saved.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// parts are the parts of `make bench`. A part runs the benchmark with the same name in each listed package.
var parts = []struct {
	name     string
	packages []string
}{
	{"call", []string{"./host/session"}},
	{"start", []string{"./host/session"}},
	{"sandbox", []string{"./isolation"}},
	{"files", []string{"./host/session"}},
	{"search", []string{"./host/session"}},
	{"plugins", []string{"./host/session"}},
	{"program", []string{"./cmd/picoclaw/internal/bench"}},
	{"mcp", []string{"./cmd/picoclaw/internal/bench"}},
	{"commands", []string{"./sdk/guard", "./host/session"}},
	{"memory", []string{"./cmd/picoclaw/internal/bench"}},
	{"run", []string{"./cmd/picoclaw/internal/bench"}},
	{"undo", []string{"./cmd/picoclaw/internal/bench"}},
	{"network", []string{"./isolation", "./cmd/picoclaw/internal/bench"}},
	{"servers", []string{"./cmd/picoclaw/internal/bench"}},
	{"turns", []string{"./host/agent"}},
	{"audit", []string{"./host/audit"}},
	{"telemetry", []string{"./host/session"}},
	{"fleet", []string{"./host/fleet"}},
	{"fleetscale", []string{"./host/fleet"}},
	{"fairness", []string{"./cmd/picoclaw/internal/bench"}},
	{"scale", []string{"./cmd/picoclaw/internal/bench"}},
}

func main() {
	only := flag.String("only", "", "part to measure; all if empty")
	file := flag.String("file", "docs/bench.json", "file with saved figures")
	save := flag.Bool("save", false, "save the medians of the runs")
	check := flag.Bool("check", false, "compare the medians of the runs with the saved figures")
	runs := flag.Int("runs", 0, "how often everything is measured (default 1, or 5 with -save or -check)")
	flag.Parse()
	if *runs == 0 {
		*runs = 1
		if *save || *check {
			*runs = 5
		}
	}
	err := runBenchmarks(*only, *file, *runs, *save, *check)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func runBenchmarks(only, file string, runs int, save, check bool) error {
	saved, err := loadResults(file)
	if err != nil {
		return err
	}
	now, err := newEmptyResults()
	if err != nil {
		return err
	}
	fmt.Println(now)
	all, unmeasured := map[string][]benchMetric{}, map[string]bool{}
	var failed error
	for n := range runs { // each runs all parts, so that a busy minute does not meet all values of one figure
		fmt.Printf("\nrun %d of %d\n", n+1, runs)
		for _, part := range parts {
			if only != "" && part.name != only {
				unmeasured[part.name] = true
				continue
			}
			for _, pkg := range part.packages {
				if err := runPackageBenchmark(part.name, pkg, all); err != nil {
					unmeasured[part.name] = true
					failed = errors.Join(failed, fmt.Errorf("measure %s in %s: %w", part.name, pkg, err))
				}
			}
		}
	}
	if len(all) == 0 && failed == nil {
		return fmt.Errorf("there is no part %q", only)
	}
	for key, values := range all {
		slices.SortFunc(values, func(a, b benchMetric) int { return cmp.Compare(a.value, b.value) })
		now.Figures[key] = values[len(values)/2].value
	}
	if check {
		failed = errors.Join(failed, compareResults(saved, now, all))
	} else if save {
		failed = errors.Join(failed, now.saveResults(file, saved, unmeasured))
	}
	return failed
}

// runPackageBenchmark runs the benchmark of one part in one package, prints its figures and adds them to all.
func runPackageBenchmark(part, pkg string, all map[string][]benchMetric) error {
	fmt.Printf("\n%s (%s)\n", part, pkg)
	out, err := exec.Command("go", "test", "-run", "^$", "-bench", "(?i)^Benchmark"+part+"$", "-benchtime", "2s",
		"-timeout", "30m", pkg).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	benchmark, found := "", 0
	for _, f := range parseMetrics(string(out)) {
		if name, _, _ := strings.Cut(f.key, "."); name != benchmark {
			benchmark = name
			fmt.Println(" ", name)
		}
		fmt.Println("   ", f)
		all[f.key] = append(all[f.key], f)
		found++
	}
	if found == 0 {
		return fmt.Errorf("no figures in\n%s", out)
	}
	return nil
}
