package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/picoclaw/picoclaw/internal/lazyregexp"
)

// figure is one metric of a benchmark.
type figure struct {
	key   string // such as call.cost-ms
	value float64
	bound string // such as <=0.15, or empty
}

func (f figure) unit() string { return f.key[strings.LastIndexAny(f.key, "-.")+1:] }

// name is the key without the benchmark and the unit.
func (f figure) name() string {
	name := f.key[strings.LastIndex(f.key, ".")+1:]
	return strings.TrimSuffix(strings.TrimSuffix(name, f.unit()), "-")
}

func (f figure) String() string {
	line := fmt.Sprintf("%-28s %10s %s", f.name(), strconv.FormatFloat(f.value, 'g', -1, 64), f.unit())
	switch bound := strings.NewReplacer("<=", "at most ", ">=", "at least ").Replace(f.bound); {
	case bound != "" && !f.keepsBound():
		line += "   (" + bound + ": missed)"
	case bound != "":
		line += "   (" + bound + ")"
	}
	return line
}

func (f figure) keepsBound() bool {
	bound, _ := strconv.ParseFloat(strings.TrimLeft(f.bound, "<>="), 64)
	return strings.HasPrefix(f.bound, "<=") && f.value <= bound || strings.HasPrefix(f.bound, ">=") && f.value >= bound
}

// moreIsBetter reports whether a figure that has grown is better.
func (f figure) moreIsBetter() bool { return f.unit() == "speed" || strings.HasSuffix(f.unit(), "/s") }

// isDifference reports whether a figure is the difference of two others, which are compared instead.
func (f figure) isDifference() bool { return strings.HasSuffix(f.name(), "cost") }

var (
	benchmarkName = lazyregexp.New(`^Benchmark(\S+?)(-\d+)?(\s|$)`)
	metric        = lazyregexp.New(`\t\s*([-+0-9.e]+) ([^\s<>]+)([<>]=[0-9.]+)?`)
)

// parse reads the output of `go test -bench`. Programs under test may write between a benchmark's name and its metrics.
func parse(output string) (all []figure) {
	benchmark := ""
	for line := range strings.Lines(output) {
		if name := benchmarkName().FindStringSubmatch(line); name != nil {
			benchmark = strings.ToLower(name[1])
		}
		for _, m := range metric().FindAllStringSubmatch(line, -1) {
			if value, err := strconv.ParseFloat(m[1], 64); err == nil && m[2] != "ns/op" && benchmark != "" {
				all = append(all, figure{benchmark + "." + m[2], value, m[3]})
			}
		}
	}
	return all
}
