package bench

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"golang.org/x/sync/errgroup"

	"github.com/picoclaw/picoclaw/internal/measure"
)

// BenchmarkProgram runs picoclaw from its start to its end, and a program that does nothing.
func BenchmarkProgram(b *testing.B) {
	i, picoclaw := newInstallation(b), program(b, "picoclaw")
	measure.RunInTurns(b,
		measure.BenchCase{Name: "bin_true", Run: func() error { return i.run("/bin/true") }},
		measure.BenchCase{Name: "version", Run: func() error { return i.run(picoclaw, "version") }},
		measure.BenchCase{Name: "call_read_file", Run: func() error { return i.run(picoclaw, "call", "read_file", "path=1k") }})
}

// BenchmarkMCP is what the client of an agent waits for: from the start to an answer, or from a request to the whole
// answer. The same is measured of the official SDK alone, and of the reference server for files if it is installed
// (npm install -g @modelcontextprotocol/server-filesystem). Neither of them is confined.
func BenchmarkMCP(b *testing.B) {
	i := newInstallation(b)
	names, servers := []string{"picoclaw", "sdk"}, []*server{
		i.server(b),
		{tool: "read", argv: []string{program(b, "sdkserver")}},
	}
	if reference, err := exec.LookPath("mcp-server-filesystem"); err == nil {
		names, servers = append(names, "reference"), append(servers, &server{tool: "read_text_file",
			argv: []string{reference, i.workspace}, env: []string{"HOME=" + i.home, "PATH=" + os.Getenv("PATH")}})
	}
	b.Run("start", func(b *testing.B) { compareStarts(b, i, names, servers) })
	for _, step := range []struct {
		name  string
		bound string
		run   func(c *client) error
	}{
		{"ping", "", (*client).ping},
		{"read_1k", "", func(c *client) error { return c.read(filepath.Join(i.workspace, "1k"), 1<<10) }},
		{"read_1m", "<=15", func(c *client) error { return c.read(filepath.Join(i.workspace, "1m"), 1<<20) }},
	} {
		b.Run(step.name, func(b *testing.B) {
			var cases []measure.BenchCase
			for n, s := range servers {
				c := connect(b, s)
				bound := step.bound
				if n > 0 {
					bound = ""
				}
				// Some calls at a time: at every call each server would find the caches full of the other's.
				cases = append(cases, measure.BenchCase{Name: names[n], Bound: bound, Repeat: 20,
					Run: func() error { return step.run(c) }})
			}
			t := measure.RunInTurns(b, cases...)
			for n, name := range names[1:] {
				bound := ""
				if step.name == "read_1k" && name == "sdk" {
					bound = "<=1.8"
				}
				b.ReportMetric(t[0].Median()/t[n+1].Median(), "picoclaw_to_"+name+"-ratio"+bound)
			}
		})
	}
}

// compareStarts starts servers and reads a file.
func compareStarts(b *testing.B, i *installation, names []string, servers []*server) {
	var cases []measure.BenchCase
	initialized := make([]measure.RunDurations, len(servers))
	for n, s := range servers {
		var c *client
		end := func() error {
			if c == nil {
				return nil
			}
			last := c
			c = nil
			return last.close()
		}
		b.Cleanup(func() { _ = end() })
		cases = append(cases, measure.BenchCase{Name: names[n] + "_first_read", Prepare: end, Run: func() error {
			if err := initialized[n].TimeRun(func() (err error) { c, err = s.start(); return err }); err != nil {
				return err
			}
			return c.read(filepath.Join(i.workspace, "1k"), 1<<10)
		}})
	}
	measure.RunInTurns(b, cases...)
	for n, times := range initialized {
		bound := ""
		if n == 0 {
			bound = "<=15"
		}
		times.ReportMedian(b, names[n]+"_initialize-ms"+bound)
	}
}

// BenchmarkServers calls an MCP server through picoclaw, confined as `picoclaw mcp add` has it, and directly. The first
// read starts the server.
func BenchmarkServers(b *testing.B) {
	i, sdk := newInstallation(b), program(b, "sdkserver")
	if err := i.run(program(b, "picoclaw"), "mcp", "add", "sdk", "--workspace", "ro", "--yes", "--", sdk); err != nil {
		b.Fatal(err)
	}
	file := filepath.Join(i.workspace, "1k")
	through, direct := i.server(b), &server{tool: "read", argv: []string{sdk}}
	b.Run("first_read", func(b *testing.B) {
		var c, d *client
		closeBoth := func() (err error) {
			for _, c := range []*client{c, d} {
				if c != nil {
					err = errors.Join(err, c.close())
				}
			}
			c, d = nil, nil
			return err
		}
		b.Cleanup(func() { _ = closeBoth() })
		t := measure.RunInTurns(b,
			measure.BenchCase{Name: "through",
				Prepare: func() (err error) {
					if err = closeBoth(); err != nil {
						return err
					}
					if c, err = through.start(); err != nil {
						return err
					}
					err = c.read(file, 1<<10) // the host is ready then
					c.tool = "sdk_read"
					return err
				},
				Run: func() error { return c.read(file, 1<<10) }},
			measure.BenchCase{Name: "direct", Run: func() (err error) {
				if d, err = direct.start(); err != nil {
					return err
				}
				return d.read(file, 1<<10)
			}})
		b.ReportMetric(t[0].Median()-t[1].Median(), "cost-ms<=10")
	})
	b.Run("read", func(b *testing.B) {
		c, d := connect(b, through), connect(b, direct)
		c.tool = "sdk_read"
		t := measure.RunInTurns(b,
			measure.BenchCase{Name: "through", Repeat: 20, Run: func() error { return c.read(file, 1<<10) }},
			measure.BenchCase{Name: "direct", Repeat: 20, Run: func() error { return d.read(file, 1<<10) }})
		b.ReportMetric(t[0].Median()-t[1].Median(), "cost-ms<=0.3")
	})
}

// BenchmarkMemory is what an MCP server and its plugins take of the machine's memory.
func BenchmarkMemory(b *testing.B) {
	const reads, rest = 1000, 10 * time.Second
	i := newInstallation(b)
	c := i.connect(b)
	report := func(unit string) {
		b.Helper()
		all, total, err := measure.MeasureMemory(c.cmd.Process.Pid)
		if err != nil {
			b.Fatal(err)
		}
		b.Log(unit, all)
		b.ReportMetric(total, unit)
	}
	b.ReportMetric(0, "ns/op")
	report("idle-MiB")
	if err := errors.Join(c.read("1k", 1<<10), c.exec("true"),
		c.call("grep", map[string]any{"pattern": "abc", "path": "1k"})); err != nil {
		b.Fatal(err)
	}
	report("each_plugin_called-MiB<=60")
	for range reads {
		if err := c.read("1m", 1<<20); err != nil {
			b.Fatal(err)
		}
	}
	report("after_1000_reads_of_1m-MiB")
	time.Sleep(rest)
	report("and_10s_rest-MiB<=90")
	gateway, address := startGateway(b, i)
	s, err := connectAgent(b.Context(), i, address, "main")
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	write := func(size int) *mcp.CallToolParams {
		return &mcp.CallToolParams{Name: "write_file",
			Arguments: map[string]any{"path": fmt.Sprint("big", size), "content": strings.Repeat("x", size)}}
	}
	if err := callAgent(b.Context(), s, write(1)); err != nil {
		b.Fatal(err)
	}
	before := memoryStatus(b, gateway, "VmRSS:")
	var calls errgroup.Group
	for n := range 4 {
		calls.Go(func() error { return callAgent(b.Context(), s, write(16<<20-n)) })
	}
	if err := calls.Wait(); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(memoryStatus(b, gateway, "VmHWM:")-before, "gateway_for_4_writes_of_16m-MiB<=150")
}

// memoryStatus returns a value of /proc/PID/status in MiB.
func memoryStatus(b *testing.B, pid int, name string) (mib float64) {
	b.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Fatal(err)
	}
	_, value, _ := strings.Cut(string(text), name)
	if _, err := fmt.Sscan(value, &mib); err != nil {
		b.Fatal(err)
	}
	return mib / 1024
}
