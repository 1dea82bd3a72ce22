package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// runtimeGeneration is a runtime in use, from its start until its last work has finished.
type runtimeGeneration struct {
	Runtime
	since        time.Time
	retired      chan struct{} // closed when another generation is the current one
	closing      chan struct{} // closed when it has to close despite work in progress
	requestClose func()        // closes the channel closing
	closed       chan struct{} // closed when the instance is closed
}

// maxGenerations limits the runtimes in use. An MCP session without a client keeps its runtime in use for 30 minutes.
const maxGenerations = 8

// pollInterval is the interval between checks for running work.
const pollInterval = 200 * time.Millisecond

// activateRuntime makes a runtime the current one.
func (g *Gateway) activateRuntime(i Runtime) {
	next := &runtimeGeneration{Runtime: i, since: time.Now(), retired: make(chan struct{}), closing: make(chan struct{}),
		closed: make(chan struct{})}
	next.requestClose = sync.OnceFunc(func() { close(next.closing) })
	g.mu.Lock()
	var previous *runtimeGeneration
	if n := len(g.generations); n > 0 {
		previous = g.generations[n-1]
	}
	g.generations = append(g.generations, next)
	all := g.generations
	g.mu.Unlock()
	for _, oldest := range all[:max(len(all)-maxGenerations, 0)] { // an older one may still be closing
		g.options.Logger.Warn("the sessions of the oldest configuration end: too many configurations are in use", "since", oldest.since)
		oldest.requestClose()
	}
	next.StartSchedulers()
	if previous != nil {
		previous.StopSchedulers()
		close(previous.retired)
	}
	g.active.Go(func() {
		defer close(next.closed)
		next.waitUntilUnused()
		closeCtx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := next.Close(closeCtx); err != nil {
			g.options.Logger.Warn("an instance did not end cleanly", "error", err)
		}
		g.removeGeneration(next)
	})
}

// waitUntilUnused waits until the runtime is retired and has no calls, turns or sessions, or must close.
func (n *runtimeGeneration) waitUntilUnused() {
	select {
	case <-n.retired:
	case <-n.closing:
		return
	}
	n.waitUntilIdle(pollInterval, n.closing, func(running, sessions int) bool { return running == 0 && sessions == 0 })
}

// waitUntilIdle waits until idle returns true for the numbers of calls and turns and of sessions, or end is closed.
func (n *runtimeGeneration) waitUntilIdle(interval time.Duration, end <-chan struct{}, idle func(running, sessions int) bool) {
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for !idle(n.ActivityCounts()) {
		select {
		case <-tick.C:
		case <-end:
			return
		}
	}
}

func (g *Gateway) removeGeneration(n *runtimeGeneration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.generations = slices.DeleteFunc(slices.Clone(g.generations), func(one *runtimeGeneration) bool { return one == n })
}

// snapshotGenerations returns all generations, the newest one or nil, and whether the gateway is shutting down.
func (g *Gateway) snapshotGenerations() (all []*runtimeGeneration, current *runtimeGeneration, draining bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.generations) > 0 {
		current = g.generations[len(g.generations)-1]
	}
	return g.generations, current, g.draining
}

// admitRequest returns the generation that serves a request's MCP session, or else the newest generation, and what to
// call after the answer. It returns nil during the shutdown.
func (g *Gateway) admitRequest(r *http.Request) (serving *runtimeGeneration, done func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.draining || len(g.generations) == 0 {
		return nil, nil
	}
	done = func() {}
	if r.Method == http.MethodPost {
		g.answering.Add(1)
		done = g.answering.Done
	}
	if id := r.Header.Get("Mcp-Session-Id"); id != "" {
		for _, gen := range g.generations {
			if gen.HasSession(id) {
				return gen, done
			}
		}
	}
	return g.generations[len(g.generations)-1], done
}

// Reload opens a runtime of the current configuration for new requests. If that fails, the old runtime continues.
func (g *Gateway) Reload() error {
	g.reloadMu.Lock()
	defer g.reloadMu.Unlock()
	if _, _, draining := g.snapshotGenerations(); draining {
		return fmt.Errorf("the gateway is ending")
	}
	next, err := g.options.OpenInstance()
	g.mu.Lock()
	g.reloadErr = err
	g.mu.Unlock()
	if err != nil {
		g.options.Logger.Error("the configuration was not loaded again; the one before stays in force", "error", err)
		return err
	}
	g.activateRuntime(next)
	g.options.Logger.Info("the configuration was loaded again")
	return nil
}
