package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/internal/measure"
)

// How many agents a gateway has, and how many of them have a client that calls.
const (
	configuredAgents = 200
	callingAgents    = 50
)

// BenchmarkScale starts a gateway with many agents, and has clients of some of them call. Each client makes a first
// call of each plugin, and when all have, others with a pause of up to one second before each.
func BenchmarkScale(b *testing.B) {
	i := newInstallation(b)
	i.write(b, "config.json", agentsConfig(b, configuredAgents, ""))
	b.ReportMetric(0, "ns/op")
	gateway, address := startGateway(b, i)
	report := func(when string) {
		all, total, err := measure.MeasureMemory(gateway)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(total, when+"-MiB")
		b.ReportMetric(all[0].MiB, when+"_gateway_alone-MiB")
		b.ReportMetric(float64(len(all)), when+"_processes-count")
	}
	report("idle")
	var wg, begun sync.WaitGroup
	begun.Add(callingAgents)
	clients := make([]scaleClient, callingAgents)
	for n := range clients {
		wg.Go(func() { clients[n].failed = clients[n].run(b.Context(), i, address, fmt.Sprint("agent", n+1), &begun) })
	}
	wg.Wait()
	var first measure.RunDurations
	later := map[string]measure.RunDurations{}
	for _, c := range clients {
		if c.failed != nil {
			b.Fatal(c.failed)
		}
		first = append(first, c.first...)
		for tool, times := range c.later {
			later[tool] = append(later[tool], times...)
		}
	}
	first.ReportMedian(b, "first_call-ms")
	for tool, times := range later {
		times.ReportMedian(b, tool+"-ms")
	}
	report("calling")
}

// agentsConfig returns a configuration with agents agent1, agent2 and so on, with workspaces below a directory or, if it
// is empty, their default ones.
func agentsConfig(b *testing.B, count int, workspaces string) string {
	b.Helper()
	agents := make([]map[string]string, count)
	for n := range agents {
		id := fmt.Sprint("agent", n+1)
		agents[n] = map[string]string{"id": id}
		if workspaces != "" {
			agents[n]["workspace"] = filepath.Join(workspaces, id)
		}
	}
	text, err := json.Marshal(map[string]any{"agents": map[string]any{"agents": agents}})
	if err != nil {
		b.Fatal(err)
	}
	return string(text)
}

// startGateway starts a gateway, which ends with the benchmark.
func startGateway(b *testing.B, i *installation) (pid int, address string) {
	b.Helper()
	cmd := exec.Command(program(b, "picoclaw"), "gateway", "--port", "0")
	cmd.Env = i.env
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	var started measure.RunDurations
	err = started.TimeRun(func() error {
		if err := cmd.Start(); err != nil {
			return err
		}
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			if _, at, ok := strings.Cut(lines.Text(), "serves at "); ok {
				address = at
				return nil
			}
		}
		return errors.New("the gateway did not print where it serves")
	})
	if cmd.Process != nil {
		b.Cleanup(func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		})
	}
	if err != nil {
		b.Fatal(err)
	}
	started.ReportMedian(b, "start-ms")
	return cmd.Process.Pid, address
}

// scaleClient is the client of one agent.
type scaleClient struct {
	first  measure.RunDurations
	later  map[string]measure.RunDurations
	failed error
}

func (c *scaleClient) run(ctx context.Context, i *installation, address, agent string, begun *sync.WaitGroup) error {
	const long = 20 * time.Second
	all := sync.OnceFunc(begun.Done)
	defer all() // also when it fails, so that others do not wait
	workspace := i.workspace
	if agent != "agent1" {
		workspace += "-" + agent
	}
	text := []byte(strings.Repeat("some text that has no needle in it\n", 120))
	err := os.MkdirAll(workspace, 0o700)
	for n := range 20 {
		err = errors.Join(err, os.WriteFile(filepath.Join(workspace, fmt.Sprint("f", n)), text, 0o600))
	}
	if err != nil {
		return err
	}
	s, err := connectAgent(ctx, i, address, agent)
	if err != nil {
		return err
	}
	defer func() { _ = s.Close() }()
	c.later = map[string]measure.RunDurations{}
	calls := []*mcp.CallToolParams{
		{Name: "read_file", Arguments: map[string]any{"path": "f0"}},
		{Name: "grep", Arguments: map[string]any{"pattern": "needle"}},
		{Name: "exec", Arguments: map[string]any{"command": "wc -l f1"}},
	}
	for _, call := range calls {
		if err := c.first.TimeRun(func() error { return callAgent(ctx, s, call) }); err != nil {
			return err
		}
	}
	all()
	begun.Wait()
	for n, began := 0, time.Now(); time.Since(began) < long; n++ {
		time.Sleep(rand.N(time.Second))
		call := calls[n%len(calls)]
		times := c.later[call.Name]
		if err := times.TimeRun(func() error { return callAgent(ctx, s, call) }); err != nil {
			return err
		}
		c.later[call.Name] = times
	}
	return nil
}

func callAgent(ctx context.Context, s *mcp.ClientSession, call *mcp.CallToolParams) error {
	r, err := s.CallTool(ctx, call)
	if err == nil && r.IsError {
		err = fmt.Errorf("%s: %v", call.Name, r.Content[0])
	}
	return err
}

// connectAgent connects a client to the gateway with an agent's token.
func connectAgent(ctx context.Context, i *installation, address, agent string) (*mcp.ClientSession, error) {
	token, err := agentToken(i, agent)
	if err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	return client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address + "/mcp/" + agent,
		HTTPClient: &http.Client{Transport: token}}, nil)
}

// agentToken returns the token of an agent.
func agentToken(i *installation, agent string) (bearer, error) {
	picoclaw, err := programs()
	if err != nil {
		return "", err
	}
	show := exec.Command(filepath.Join(picoclaw, "picoclaw"), "gateway", "token", "--agent", agent)
	show.Env = i.env
	token, err := show.Output()
	return bearer(strings.TrimSpace(string(token))), err
}

// bearer sends a token with each request.
type bearer string

func (t bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(t))
	return http.DefaultTransport.RoundTrip(r)
}
