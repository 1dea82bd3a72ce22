package fleet

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/measure"
)

// The fleet of BenchmarkFleetScale, all on one machine. Workers are in several processes, since each agent's journal
// is an open file.
const (
	scaleWorkers   = 1000
	scaleAgents    = 100 // of each worker
	scaleProcesses = 10  // of an even number of workers each: two may have the same agents
	scaleCallers   = 64  // of one gateway, at the same time
)

// partVariable makes the test binary one process of that fleet; it holds a JSON scalePart.
const partVariable = "FLEET_TEST_PART"

// scalePart describes a process: the NATS server, or some of the workers.
type scalePart struct {
	NATS    string // the server's directory
	Address string // of the server, for workers
	Workers simulated
}

// BenchmarkFleetScale starts a fleet of many workers and agents, and looks up and calls agents through one gateway:
// each agent has one worker, or two that may have it. Journals are in memory: one disk can't be that of all these
// machines.
func BenchmarkFleetScale(b *testing.B) {
	b.Run("single", func(b *testing.B) { measureScale(b, false) })
	b.Run("standby", func(b *testing.B) { measureScale(b, true) })
}

func measureScale(b *testing.B, standby bool) {
	home, err := os.MkdirTemp("/dev/shm", "picoclaw-bench")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = os.RemoveAll(home) })
	nats := startPart(b, scalePart{NATS: home})
	address := nats.line(b)
	empty := nats.memory(b)
	began := time.Now()
	var parts []*partProcess
	for n := range scaleProcesses {
		parts = append(parts, startPart(b, scalePart{Address: address, Workers: simulated{
			From: n * scaleWorkers / scaleProcesses, To: (n + 1) * scaleWorkers / scaleProcesses, Each: scaleAgents,
			Standby: standby, Home: home}}))
	}
	for _, p := range parts {
		if line := p.line(b); line != "taken" {
			b.Fatalf("workers said %q", line)
		}
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(time.Since(began).Seconds(), "taken-s")
	full, workers := nats.memory(b), 0.0
	for _, p := range parts {
		workers += p.memory(b)
	}
	b.ReportMetric(full, "server-MiB")
	b.ReportMetric((full-empty)*1024/scaleWorkers, "server_per_worker-KiB")
	b.ReportMetric(workers/scaleWorkers, "worker-MiB")
	measureRest(b, nats, parts)
	measureGateway(b, address)
	foreign := 0
	for _, p := range parts {
		_ = p.in.Close()
		n, err := strconv.Atoi(p.line(b))
		if err != nil {
			b.Fatal(err)
		}
		foreign += n
	}
	b.ReportMetric(float64(foreign), "foreign_messages-count<=0")
}

// measureRest reports how much of one processor a fleet without calls takes.
func measureRest(b *testing.B, nats *partProcess, parts []*partProcess) {
	const rest = 10 * time.Second
	cpu := func() (server, workers time.Duration) {
		for _, p := range parts {
			workers += p.cpu(b)
		}
		return nats.cpu(b), workers
	}
	server, workers := cpu()
	time.Sleep(rest)
	serverThen, workersThen := cpu()
	b.ReportMetric(100*float64(serverThen-server)/float64(rest), "server_rest-%")
	b.ReportMetric(100*float64(workersThen-workers)/float64(rest), "workers_rest-%")
}

// measureGateway looks up all agents through one client, three times, and calls some of them.
func measureGateway(b *testing.B, address string) {
	ctx := b.Context()
	f, err := joinCounted(ctx, "gateway", dialTo(address), nil)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	client, err := NewClient(f)
	if err != nil {
		b.Fatal(err)
	}
	defer client.Close()
	var lookups measure.RunDurations
	for pass := range 3 {
		times, _ := doMany(b, 8, rand.Perm(scaleWorkers*scaleAgents), func(n int) error {
			_, err := client.place(ctx, simulatedAgent(n))
			return err
		})
		lookups = append(lookups, times...)
		b.ReportMetric(heapInUse(), fmt.Sprintf("gateway_after_pass_%d-MiB", pass+1))
	}
	lookups.ReportMedian(b, "lookup-ms")
	b.ReportMetric(lookups.Quantile(0.99), "lookup_p99-ms<=5")
	sessions := make([]*Session, scaleWorkers)
	doMany(b, scaleCallers, rand.Perm(scaleWorkers), func(n int) (err error) {
		sessions[n], err = client.Session(ctx, simulatedAgent(n*scaleAgents), session.MCP)
		return err
	})
	var calls []int
	for range 50 {
		calls = append(calls, rand.Perm(scaleWorkers)...)
	}
	times, total := doMany(b, scaleCallers, calls, func(n int) error {
		if r := sessions[n].Call(ctx, simulatedTool, json.RawMessage(`{}`), nil); r.Err != nil {
			return r.Err
		}
		return nil
	})
	times.ReportMedian(b, "call-ms")
	b.ReportMetric(float64(len(calls))/total.Seconds(), "calls-/s")
}

// heapInUse is what this process has in use, in MiB.
func heapInUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// doMany does something for each number, several at a time, and returns how long each took and all took together.
func doMany(b *testing.B, workers int, numbers []int, do func(n int) error) (all measure.RunDurations, total time.Duration) {
	b.Helper()
	began := time.Now()
	todo := make(chan int, len(numbers))
	for _, n := range numbers {
		todo <- n
	}
	close(todo)
	var failed error
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			var times measure.RunDurations
			var err error
			for n := range todo {
				if err = times.TimeRun(func() error { return do(n) }); err != nil {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all, failed = append(all, times...), errors.Join(failed, err)
		})
	}
	wg.Wait()
	if failed != nil {
		b.Fatal(failed)
	}
	return all, time.Since(began)
}

// partProcess is a process of the fleet.
type partProcess struct {
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Reader
}

// startPart starts a process. It is killed at the end: a hundred thousand agents are not given back one by one.
func startPart(b *testing.B, part scalePart) *partProcess {
	b.Helper()
	text, err := json.Marshal(part)
	if err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env, cmd.Stderr = append(os.Environ(), partVariable+"="+string(text)), os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return &partProcess{cmd, in, bufio.NewReader(out)}
}

// line reads a line that the process prints.
func (p *partProcess) line(b *testing.B) string {
	b.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		b.Fatalf("read from a part of the fleet: %q: %v", line, err)
	}
	return strings.TrimSpace(line)
}

// memory returns the process's share of the memory in MiB.
func (p *partProcess) memory(b *testing.B) float64 {
	b.Helper()
	_, total, err := measure.MeasureMemory(p.cmd.Process.Pid)
	if err != nil {
		b.Fatal(err)
	}
	return total
}

// cpu returns the processor time that the process has had.
func (p *partProcess) cpu(b *testing.B) time.Duration {
	b.Helper()
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.cmd.Process.Pid), "stat"))
	if err != nil {
		b.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	words := strings.Fields(after)
	user, _ := strconv.Atoi(words[11]) // utime and stime, in hundredths of a second
	system, _ := strconv.Atoi(words[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func dialTo(address string) func() (net.Conn, error) {
	return func() (net.Conn, error) { return net.Dial("tcp", address) }
}

// runPart is a process of the fleet until its standard input ends.
func runPart(text string) error {
	var part scalePart
	if err := json.Unmarshal([]byte(text), &part); err != nil {
		return err
	}
	if part.NATS != "" {
		return runNATS(part.NATS)
	}
	return runWorkers(part.Address, part.Workers)
}

func runNATS(dir string) error {
	s, err := server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, NoSigs: true,
		StoreDir: filepath.Join(dir, "nats")})
	if err != nil {
		return err
	}
	s.Start()
	if !s.ReadyForConnections(30 * time.Second) {
		return errors.New("the NATS server does not come up")
	}
	fmt.Println(s.Addr())
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// runWorkers prints a line when all agents are taken, and at the end how many messages were for others' agents.
func runWorkers(address string, workers simulated) (err error) {
	workers.dial = dialTo(address)
	if workers.host, err = openSimulatedHost(filepath.Join(workers.Home, fmt.Sprint("host", workers.From))); err != nil {
		return err
	}
	s, err := startSimulation(workers)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := s.wait(ctx); err != nil {
		return err
	}
	fmt.Println("taken")
	<-ctx.Done()
	if one := s.oneForeign.Load(); one != nil {
		fmt.Fprintln(os.Stderr, "a message for another worker's agents:", *one)
	}
	fmt.Println(s.foreign.Load())
	return nil
}
