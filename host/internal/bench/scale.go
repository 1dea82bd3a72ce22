package main

import (
	"bufio"
	"context"
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
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// How many agents a gateway has, and how many of them have clients that call.
const (
	configured = 200
	active     = 50
)

// measureScale is what many agents of one gateway take of the machine's memory, and what their clients wait for.
func measureScale(bin string) error {
	return withHome(func(home string) error {
		agents := names("agent", configured)
		if err := configure(home, agents); err != nil {
			return err
		}
		cmd := exec.Command(filepath.Join(bin, "picoclaw"), "gateway", "--port", "0")
		cmd.Env = []string{"HOME=" + home, "PICOCLAW_HOME=" + home, "PATH=/usr/bin:/bin"}
		said, err := cmd.StderrPipe()
		if err != nil {
			return err
		}
		var started sample
		var address string
		if err := started.timed(func() error {
			if err := cmd.Start(); err != nil {
				return err
			}
			for lines := bufio.NewScanner(said); lines.Scan(); {
				if _, at, ok := strings.Cut(lines.Text(), "serves at "); ok {
					address = at
					return nil
				}
			}
			return errors.New("the gateway did not say where it serves")
		}); err != nil {
			return err
		}
		defer func() {
			_ = cmd.Process.Signal(syscall.SIGTERM)
			_ = cmd.Wait()
		}()
		fmt.Printf("a gateway with %d agents, isolation on: it serves after %.0f ms\n", configured, ms(started.p50()))
		if err := printTotal(cmd.Process.Pid, "before the first call"); err != nil {
			return err
		}
		first, later, err := askAgents(cmd.Path, home, address, agents[:active])
		if err != nil {
			return err
		}
		fmt.Printf("  the first call of each of 3 plugins, %d agents at once  %v\n", active, first)
		for _, tool := range []string{"read_file", "grep", "exec"} {
			fmt.Printf("  %-10s with up to 1 s between an agent's calls     %v\n", tool, later[tool])
		}
		return printTotal(cmd.Process.Pid, fmt.Sprintf("with %d agents that call", active))
	})
}

// printTotal prints what a process and all that it has started take, with the first's own share.
func printTotal(pid int, when string) error {
	all, err := memoryOf(pid)
	if err != nil {
		return err
	}
	total := 0.0
	for _, p := range all {
		total += p.pss
	}
	fmt.Printf("  %-26s %7.1f MiB in %d processes, %.1f of it the gateway's own\n", when, total, len(all), all[0].pss)
	return nil
}

// askAgents has a client of each agent make first calls, and when all have made theirs, others for a while.
func askAgents(picoclaw, home, address string, agents []string) (first sample, later taken, failed error) {
	const long = 20 * time.Second
	later = taken{}
	var mu sync.Mutex
	var wg, begun sync.WaitGroup
	begun.Add(len(agents))
	for _, agent := range agents {
		wg.Go(func() {
			all := sync.OnceFunc(begun.Done)
			defer all()
			own, each, err := askAgent(picoclaw, home, address, agent, func() time.Time {
				all()
				begun.Wait()
				return time.Now().Add(long)
			})
			mu.Lock()
			defer mu.Unlock()
			first, failed = append(first, own...), errors.Join(failed, err)
			later.add(each)
		})
	}
	wg.Wait()
	return first, later, failed
}

// askAgent is one of them. begun is called after its first calls, and says how long it goes on.
func askAgent(picoclaw, home, address, agent string, begun func() time.Time) (first sample, later taken, err error) {
	ctx := context.Background()
	workspace := filepath.Join(home, "workspace-"+agent)
	if agent == "agent1" {
		workspace = filepath.Join(home, "workspace")
	}
	if err := os.MkdirAll(workspace, 0o700); err != nil {
		return nil, nil, err
	}
	if err := fill(workspace, 20, 4<<10); err != nil {
		return nil, nil, err
	}
	show := exec.Command(picoclaw, "gateway", "token", "--agent", agent)
	show.Env = []string{"HOME=" + home, "PICOCLAW_HOME=" + home}
	token, err := show.Output()
	if err != nil {
		return nil, nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	s, err := client.Connect(ctx, &mcp.StreamableClientTransport{Endpoint: address + "/mcp/" + agent,
		HTTPClient: &http.Client{Transport: bearer(strings.TrimSpace(string(token)))}}, nil)
	if err != nil {
		return nil, nil, err
	}
	defer func() { _ = s.Close() }()
	later = taken{}
	calls := []*mcp.CallToolParams{
		{Name: "read_file", Arguments: map[string]any{"path": "f0"}},
		{Name: "grep", Arguments: map[string]any{"pattern": "needle"}},
		{Name: "exec", Arguments: map[string]any{"command": "wc -l f1"}},
	}
	var until time.Time
	for n := 0; n < len(calls) || time.Now().Before(until); n++ {
		c := calls[n%len(calls)]
		var once sample
		if err := once.timed(func() error {
			r, err := s.CallTool(ctx, c)
			if err == nil && r.IsError {
				err = fmt.Errorf("%s of %s: %v", c.Name, agent, r.Content[0])
			}
			return err
		}); err != nil {
			return first, later, err
		}
		if n < len(calls) {
			if first = append(first, once...); n == len(calls)-1 {
				until = begun()
			}
			continue
		}
		later[c.Name] = append(later[c.Name], once...)
		time.Sleep(rand.N(time.Second))
	}
	return first, later, nil
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}
