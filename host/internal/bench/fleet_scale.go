package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/internal/crowd"
	"github.com/picoclaw/picoclaw/host/session"
)

// Who is played on one machine. Workers are in several processes, since each agent's journal is an open file.
const (
	fleetWorkers   = 1000
	fleetAgents    = 100 // of each worker
	fleetProcesses = 10  // of an even number of workers each: two may have the same agents
	fleetCallers   = 64  // of one gateway, at once
)

// measureFleetScale is what a fleet of many workers and agents takes, and what a gateway of it waits for: without and
// with a second worker for each agent.
func measureFleetScale(bin string) error {
	fmt.Printf("%d workers with %d agents each, on one NATS server\n", fleetWorkers, fleetAgents)
	if err := measureFleetOf(bin, false); err != nil {
		return err
	}
	fmt.Println("and another worker that may have the same agents, for each of them")
	return measureFleetOf(bin, true)
}

// measureFleetOf measures one such fleet. Journals are in memory: one disk can't be that of all these machines.
func measureFleetOf(bin string, standby bool) (err error) {
	home, err := os.MkdirTemp("/dev/shm", "picoclaw-bench")
	if err != nil {
		return fmt.Errorf("make a directory in memory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(home)) }()
	nats, address, err := play(playNATSArg, home)
	if err != nil {
		return err
	}
	defer nats.end()
	empty, err := nats.memory()
	if err != nil {
		return err
	}
	began := time.Now()
	var parts []*played
	defer func() {
		for _, p := range parts {
			p.end()
		}
	}()
	for n := range fleetProcesses {
		p, _, err := play(playWorkersArg, home, bin, address, strconv.Itoa(n*fleetWorkers/fleetProcesses),
			strconv.Itoa((n+1)*fleetWorkers/fleetProcesses), strconv.FormatBool(standby))
		if err != nil {
			return err
		}
		parts = append(parts, p)
	}
	for _, p := range parts {
		if line, err := p.said.ReadString('\n'); err != nil || line != "all\n" {
			return fmt.Errorf("workers said %q: %w", line, err)
		}
	}
	fmt.Printf("  all agents are taken after          %6.1f s\n", time.Since(began).Seconds())
	if err := printFleetMemory(nats, empty, parts); err != nil {
		return err
	}
	if err := printFleetRest(nats, parts); err != nil {
		return err
	}
	if err := measureFleetGateway(address); err != nil {
		return err
	}
	var calls, foreign int64
	for _, p := range parts {
		_ = p.in.Close()
		var heard [2]int64
		if err := json.NewDecoder(p.said).Decode(&heard); err != nil {
			return fmt.Errorf("ask workers what they have heard: %w", err)
		}
		calls, foreign = calls+heard[0], foreign+heard[1]
	}
	fmt.Printf("  messages to workers: %d, for others' agents: %d (none)\n", calls, foreign)
	return nil
}

// printFleetMemory prints what server and workers take of the machine's memory.
func printFleetMemory(nats *played, empty float64, parts []*played) error {
	full, err := nats.memory()
	if err != nil {
		return err
	}
	workers := 0.0
	for _, p := range parts {
		one, err := p.memory()
		if err != nil {
			return err
		}
		workers += one
	}
	fmt.Printf("  memory of the server                %6.0f MiB, %.0f KiB for a worker and its agents\n", full,
		(full-empty)*1024/fleetWorkers)
	fmt.Printf("  memory of a worker                  %6.1f MiB\n", workers/fleetWorkers)
	return nil
}

// printFleetRest prints what a fleet that does nothing takes of the processors.
func printFleetRest(nats *played, parts []*played) error {
	const long = 10 * time.Second
	total := func() (server, workers time.Duration, err error) {
		server, err = nats.cpu()
		for _, p := range parts {
			one, oneErr := p.cpu()
			workers, err = workers+one, errors.Join(err, oneErr)
		}
		return server, workers, err
	}
	server, workers, err := total()
	if err != nil {
		return err
	}
	time.Sleep(long)
	serverThen, workersThen, err := total()
	fmt.Printf("  at rest, of one processor           server %.0f%%, all workers %.0f%%\n",
		100*float64(serverThen-server)/float64(long), 100*float64(workersThen-workers)/float64(long))
	return err
}

// measureFleetGateway looks up all agents through one client, twice, and calls some of them.
func measureFleetGateway(address string) error {
	ctx := context.Background()
	f, err := crowd.Join(ctx, "gateway", dialTo(address), nil)
	if err != nil {
		return err
	}
	defer f.Close()
	client, err := fleet.NewClient(f)
	if err != nil {
		return err
	}
	defer client.Close()
	for pass := range 3 {
		order := rand.Perm(fleetWorkers * fleetAgents)
		found, err := many(8, order, func(n int) error {
			_, err := client.Where(ctx, crowd.Agent(n))
			return err
		})
		if err != nil {
			return err
		}
		fmt.Printf("  look up all agents, pass %d  %v   (p99 at most 5); then %.1f MiB in use\n", pass+1, found.each,
			heapInUse())
	}
	sessions := make([]*fleet.Session, fleetWorkers)
	if _, err := many(fleetCallers, rand.Perm(fleetWorkers), func(n int) (err error) {
		sessions[n], err = client.Session(ctx, crowd.Agent(n*fleetAgents), session.MCP)
		return err
	}); err != nil {
		return err
	}
	calls := make([]int, 0, 50*fleetWorkers)
	for range 50 {
		calls = append(calls, rand.Perm(fleetWorkers)...)
	}
	made, err := many(fleetCallers, calls, func(n int) error {
		if r := sessions[n].Call(ctx, crowd.Tool, json.RawMessage(`{}`), nil); r.Err != nil {
			return r.Err
		}
		return nil
	})
	if err != nil {
		return err
	}
	fmt.Printf("  calls through one gateway   %v, %d at once: %.0f in a second\n", made.each, fleetCallers,
		float64(len(calls))/made.total.Seconds())
	return nil
}

// heapInUse is what this process has in use, in MiB.
func heapInUse() float64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc) / (1 << 20)
}

// done is what many things took, each and all together.
type done struct {
	each  sample
	total time.Duration
}

// many does something for each number, several at once.
func many(atOnce int, numbers []int, do func(n int) error) (done, error) {
	began := time.Now()
	todo := make(chan int, len(numbers))
	for _, n := range numbers {
		todo <- n
	}
	close(todo)
	var all done
	var failed error
	var mu sync.Mutex
	var wg sync.WaitGroup
	for range atOnce {
		wg.Go(func() {
			var own sample
			var err error
			for n := range todo {
				if err = own.timed(func() error { return do(n) }); err != nil {
					break
				}
			}
			mu.Lock()
			defer mu.Unlock()
			all.each, failed = append(all.each, own...), errors.Join(failed, err)
		})
	}
	wg.Wait()
	all.total = time.Since(began)
	return all, failed
}
