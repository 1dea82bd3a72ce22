//go:build linux

package session_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/measure"
)

// BenchmarkFairness has seven agents work, alone and in turn beside one with 60 calls at a time: loops, much output,
// and searches through 200 MB.
func BenchmarkFairness(b *testing.B) {
	const spells, spell = 8, 4 * time.Second
	names := agentNames("worker", 7)
	h, _ := openBench(b, hosttest.TempDir(b), benchConfig(b, append(names, "greedy")), true, nil)
	greedy := agentSession(b, h, "greedy")
	fillWorkspace(b, greedy.Policy().Workspace(), 2000, 100<<10)
	var workers []*session.Session
	for _, name := range names {
		s := agentSession(b, h, name)
		fillWorkspace(b, s.Policy().Workspace(), 50, 4<<10)
		workers = append(workers, s)
	}
	work(b, workers, spell) // warms up
	alone, beside := callTimes{}, callTimes{}
	var ratios, ratiosWithoutWrites []float64
	for range spells {
		without := work(b, workers, spell)
		stop := abuse(greedy)
		time.Sleep(time.Second)
		with := work(b, workers, spell)
		stop()
		time.Sleep(2 * time.Second) // the host clears away what its calls left
		ratios = append(ratios, with.p99()/without.p99())
		alone.add(without)
		beside.add(with)
		delete(with, "write_file") // waits for the disk, which is not shared out
		delete(without, "write_file")
		ratiosWithoutWrites = append(ratiosWithoutWrites, with.p99()/without.p99())
	}
	for tool := range alone {
		alone[tool].Report(b, tool+"_alone-ms")
		beside[tool].Report(b, tool+"_beside-ms")
		b.ReportMetric(alone[tool].Quantile(0.99), tool+"_alone_p99-ms")
		b.ReportMetric(beside[tool].Quantile(0.99), tool+"_beside_p99-ms")
	}
	slices.Sort(ratios)
	slices.Sort(ratiosWithoutWrites)
	b.ReportMetric(ratios[spells/2], "p99_beside_to_alone-ratio<=2")
	b.ReportMetric(ratiosWithoutWrites[spells/2], "p99_without_writes_beside_to_alone-ratio")
}

// callTimes are the durations of calls, by tool.
type callTimes map[string]measure.Times

func (c callTimes) add(other callTimes) {
	for tool, times := range other {
		c[tool] = append(c[tool], times...)
	}
}

func (c callTimes) p99() float64 {
	return measure.Times(slices.Concat(slices.Collect(maps.Values(c))...)).Quantile(0.99)
}

// work has agents call, each with a pause of up to 100 ms between its calls.
func work(b *testing.B, workers []*session.Session, long time.Duration) callTimes {
	calls := []struct{ tool, args string }{
		{"read_file", `{"path":"f0"}`}, {"grep", `{"pattern":"needle [0-9]+"}`}, {"exec", `{"command":"wc -l f1"}`},
		{"write_file", `{"path":"out","content":"x"}`}, {"exec", `{"command":"ls | sort | head -3"}`},
	}
	all := callTimes{}
	var wg sync.WaitGroup
	var mu sync.Mutex
	until := time.Now().Add(long)
	for _, w := range workers {
		wg.Go(func() {
			for n := rand.N(len(calls)); time.Now().Before(until); n++ {
				c := calls[n%len(calls)]
				var once measure.Times
				if err := once.Time(callTool(w, c.tool, c.args)); err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				all.add(callTimes{c.tool: once})
				mu.Unlock()
				time.Sleep(rand.N(100 * time.Millisecond))
			}
		})
	}
	wg.Wait()
	if b.Failed() {
		b.FailNow()
	}
	return all
}

// abuse has an agent make 60 calls at a time until stop is called. Its results do not matter.
func abuse(s *session.Session) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	calls := []struct{ tool, args string }{
		{"exec", `{"command":"while :; do :; done","timeout":5}`},
		{"exec", `{"command":"head -c 200000000 /dev/zero"}`},
		{"grep", `{"pattern":"(a|b)*x[0-9]+y"}`},
	}
	for n := range 60 {
		c := calls[n%len(calls)]
		wg.Go(func() {
			for ctx.Err() == nil {
				within, end := context.WithTimeout(ctx, 5*time.Second)
				s.Call(within, c.tool, json.RawMessage(c.args), func(session.Event) {})
				end()
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

func agentSession(b *testing.B, h *session.Host, agent string) *session.Session {
	b.Helper()
	s, err := h.OpenSession(agent, session.MCP)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

func agentNames(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(prefix, i+1))
	}
	return all
}

// benchConfig returns a configuration with agents.
func benchConfig(b *testing.B, agents []string) string {
	b.Helper()
	var list []map[string]string
	for _, id := range agents {
		list = append(list, map[string]string{"id": id})
	}
	text, err := json.Marshal(map[string]any{"agents": map[string]any{"agents": list}})
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// fillWorkspace writes files of a size.
func fillWorkspace(b *testing.B, dir string, files, size int) {
	b.Helper()
	line := "some text that has no needle in it, and goes on and on abababababababababab\n"
	text := []byte(strings.Repeat(line, size/len(line)+1))
	for n := range files {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d", n)), text, 0o600); err != nil {
			b.Fatal(err)
		}
	}
}
