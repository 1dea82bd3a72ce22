package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sys/unix"

	"github.com/picoclaw/picoclaw/internal/measure"
)

// floods are the calls of an agent that takes all it can get, and how many it makes at a time.
var floods = []struct {
	name    string
	atATime int
	call    *mcp.CallToolParams
}{
	{"loops", 16, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"command": "while :; do :; done", "timeout": 3}}},
	{"writes", 4, &mcp.CallToolParams{Name: "write_file", Arguments: map[string]any{"path": "big", "content": strings.Repeat("x", 16<<20)}}},
	{"output", 16, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"command": "head -c 200000000 /dev/zero", "timeout": 3}}},
	{"memory", 16, &mcp.CallToolParams{Name: "exec", Arguments: map[string]any{"command": "tail /dev/zero", "timeout": 3}}},
}

// BenchmarkFairness has seven agents call a gateway, alone and in turn beside one more with each of the floods. The
// ratio compares the p99 of all calls of the seven.
func BenchmarkFairness(b *testing.B) {
	for _, place := range []string{"disk", "tmpfs"} {
		b.Run(place, func(b *testing.B) { measureFairness(b, place == "tmpfs") })
	}
}

func measureFairness(b *testing.B, tmpfs bool) {
	const agents, spells, spell = 7, 3, 4 * time.Second
	i := newInstallation(b)
	workspaces := filepath.Join(i.home, "workspaces")
	if err := os.Mkdir(workspaces, 0o700); err != nil {
		b.Fatal(err)
	}
	if tmpfs { // not /dev/shm, of which a sandbox has its own
		if err := unix.Mount("tmpfs", workspaces, "tmpfs", 0, ""); err != nil {
			b.Skip("mount a tmpfs: ", err)
		}
		b.Cleanup(func() { _ = unix.Unmount(workspaces, unix.MNT_DETACH) })
	}
	i.write(b, "config.json", agentsConfig(b, agents+1, workspaces))
	fillWorkspaces(b, workspaces, agents+1)
	_, address := startGateway(b, i)
	var clients []*mcp.ClientSession
	for n := range agents + 1 {
		s, err := connectAgent(b.Context(), i, address, fmt.Sprint("agent", n+1))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		clients = append(clients, s)
	}
	workers, greedy := clients[1:], clients[0]
	work(b, workers, spell) // warms up
	b.ReportMetric(0, "ns/op")
	for _, flood := range floods {
		var ratios []float64
		var alone, beside measure.Times
		for range spells {
			without := work(b, workers, spell)
			stop := callRepeatedly(greedy, flood.call, flood.atATime)
			time.Sleep(time.Second)
			with := work(b, workers, spell)
			stop()
			time.Sleep(time.Second) // the gateway clears away what its calls left
			ratios = append(ratios, with.Quantile(0.99)/without.Quantile(0.99))
			alone, beside = append(alone, without...), append(beside, with...)
		}
		slices.Sort(ratios)
		b.Log(flood.name, ratios)
		b.ReportMetric(ratios[spells/2], flood.name+"_p99_beside_to_alone-ratio<=2")
		b.ReportMetric(alone.Quantile(0.99), flood.name+"_alone_p99-ms")
		b.ReportMetric(beside.Quantile(0.99), flood.name+"_beside_p99-ms")
	}
}

// work has agents call, each with a pause of up to 100 ms between its calls.
func work(b *testing.B, workers []*mcp.ClientSession, long time.Duration) (all measure.Times) {
	b.Helper()
	calls := []*mcp.CallToolParams{
		{Name: "read_file", Arguments: map[string]any{"path": "f0"}},
		{Name: "grep", Arguments: map[string]any{"pattern": "needle [0-9]+"}},
		{Name: "exec", Arguments: map[string]any{"command": "wc -l f1"}},
		{Name: "write_file", Arguments: map[string]any{"path": "out", "content": "x"}},
		{Name: "exec", Arguments: map[string]any{"command": "ls | sort | head -3"}},
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	until := time.Now().Add(long)
	for _, w := range workers {
		wg.Go(func() {
			for n := rand.N(len(calls)); time.Now().Before(until); n++ {
				var once measure.Times
				if err := once.Time(func() error { return callAgent(b.Context(), w, calls[n%len(calls)]) }); err != nil {
					b.Error(err)
					return
				}
				mu.Lock()
				all = append(all, once...)
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

// callRepeatedly has an agent make a number of calls at a time until stop is called. Their results do not matter.
func callRepeatedly(s *mcp.ClientSession, call *mcp.CallToolParams, atATime int) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	for range atATime {
		wg.Go(func() {
			for ctx.Err() == nil {
				_, _ = s.CallTool(ctx, call)
			}
		})
	}
	return func() { cancel(); wg.Wait() }
}

// fillWorkspaces writes 50 files of 4 KB into the workspace of each agent.
func fillWorkspaces(b *testing.B, workspaces string, agents int) {
	b.Helper()
	text := []byte(strings.Repeat("some text that has no needle in it, and goes on and on\n", 75))
	for n := range agents {
		dir := filepath.Join(workspaces, fmt.Sprint("agent", n+1))
		err := os.MkdirAll(dir, 0o700)
		for f := range 50 {
			err = errors.Join(err, os.WriteFile(filepath.Join(dir, fmt.Sprint("f", f)), text, 0o600))
		}
		if err != nil {
			b.Fatal(err)
		}
	}
}
