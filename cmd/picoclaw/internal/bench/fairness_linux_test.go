package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	var workers []*mcp.ClientSession
	for n := range agents {
		s, err := connectAgent(b.Context(), i, address, fmt.Sprint("agent", n+2))
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = s.Close() })
		workers = append(workers, s)
	}
	greedy := newFlooder(b, i, address, "agent1")
	work(b, workers, spell) // warms up
	b.ReportMetric(0, "ns/op")
	for _, flood := range floods {
		var ratios []float64
		var alone, beside measure.RunDurations
		for range spells {
			unix.Sync() // the last flood's writes
			without := work(b, workers, spell)
			stop := greedy.callRepeatedly(b, flood.call, flood.atATime)
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
func work(b *testing.B, workers []*mcp.ClientSession, long time.Duration) (all measure.RunDurations) {
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
				var once measure.RunDurations
				if err := once.TimeRun(func() error { return callAgent(b.Context(), w, calls[n%len(calls)]) }); err != nil {
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

// flooder is the client of an agent that floods the gateway. It encodes each request once and discards the responses,
// so that its own work, on the same processors, delays nobody.
type flooder struct {
	url, session string
	client       *http.Client
	calls        atomic.Int64
}

func newFlooder(b *testing.B, i *installation, address, agent string) *flooder {
	b.Helper()
	token, err := agentToken(i, agent)
	if err != nil {
		b.Fatal(err)
	}
	f := &flooder{url: address + "/mcp/" + agent, client: &http.Client{Transport: token}}
	begin, err := f.post(b.Context(), strings.NewReader(initialize), len(initialize))
	if err != nil {
		b.Fatal(err)
	}
	f.session = begin.Get("Mcp-Session-Id")
	return f
}

// callRepeatedly makes a number of calls at a time. stop waits for the last ones.
func (f *flooder) callRepeatedly(b *testing.B, call *mcp.CallToolParams, atATime int) (stop func()) {
	b.Helper()
	params, err := json.Marshal(call)
	if err != nil {
		b.Fatal(err)
	}
	var stopped atomic.Bool
	var wg sync.WaitGroup
	for range atATime {
		wg.Go(func() {
			for !stopped.Load() {
				if err := f.call(b.Context(), params); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	return func() { stopped.Store(true); wg.Wait() }
}

func (f *flooder) call(ctx context.Context, params []byte) error {
	start := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":`, f.calls.Add(1)+1)
	body := io.MultiReader(strings.NewReader(start), bytes.NewReader(params), strings.NewReader("}"))
	_, err := f.post(ctx, body, len(start)+len(params)+1)
	return err
}

// post sends a message and returns the header of the response.
func (f *flooder) post(ctx context.Context, body io.Reader, size int) (http.Header, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, f.url, body)
	if err != nil {
		return nil, err
	}
	r.ContentLength = int64(size)
	r.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if f.session != "" {
		r.Header.Set("Mcp-Session-Id", f.session)
	}
	answer, err := f.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}
	if err == nil {
		_, err = io.Copy(io.Discard, answer.Body)
	}
	return answer.Header, err
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
