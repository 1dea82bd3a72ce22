// Command bench measures what the sandboxed way costs, on the built binaries, as differences and ratios within one
// run: the machine's speed drops out of them. It judges nothing; each line says what it is to be compared with.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/sdk"
)

func main() {
	if strings.HasPrefix(filepath.Base(os.Args[0]), plainID) {
		sdk.Main(plainPlugin())
		return
	}
	if len(os.Args) == 2 && os.Args[1] == serveSDKArg {
		if err := serveSDK(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	bin := flag.String("bin", "bin", "the directory that `make build` fills")
	only := flag.String("only", "", "what to measure, of call, start, sandbox, files, search, plugins, program, mcp, "+
		"commands, memory, undo, network, servers, turns, audit, telemetry, fleet, fleetscale, fairness and scale; everything if empty")
	flag.Parse()
	if err := run(*bin, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(bin, only string) error {
	bin, err := filepath.Abs(bin)
	if err != nil {
		return err
	}
	fmt.Printf("%d CPUs, %s/%s, %s, uid %d\n\n", runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(),
		os.Getuid())
	for _, m := range []struct {
		name    string
		measure func(bin string) error
	}{
		{"call", measureCall}, {"start", measureStart}, {"files", measureFiles},
		{"search", measureSearch}, {"plugins", measurePlugins}, {"program", measureProgram}, {"mcp", measureMCP},
		{"commands", measureCommands},
		{"memory", measureMemory}, {"undo", measureUndo}, {"network", measureNetwork},
		{"servers", measureServers}, {"telemetry", measureTelemetry},
		{"fairness", measureFairness}, {"scale", measureScale},
	} {
		if only != "" && only != m.name {
			continue
		}
		if err := m.measure(bin); err != nil {
			return err
		}
		fmt.Println()
	}
	return nil
}

// sample is what one thing took, once for each run.
type sample []time.Duration

// p50 is the median.
func (s sample) p50() time.Duration { return s.at(0.5) }

func (s sample) at(q float64) time.Duration {
	sorted := slices.Sorted(slices.Values(s))
	return sorted[int(float64(len(sorted)-1)*q)]
}

func (s sample) String() string {
	return fmt.Sprintf("p50 %8.3f ms   p99 %8.3f ms   n=%d", ms(s.p50()), ms(s.at(0.99)), len(s))
}

func ms(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }

// timed runs f and adds what it took.
func (s *sample) timed(f func() error) error {
	began := time.Now()
	err := f()
	*s = append(*s, time.Since(began))
	return err
}
