package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// generation is an instance from its start until its last work has finished.
type generation struct {
	Instance
	since        time.Time
	retired      chan struct{} // closed when another generation is the current one
	closing      chan struct{} // closed when it has to close despite work in progress
	requestClose func()        // closes the channel closing
	closed       chan struct{} // closed when the instance is closed
}

// maxGenerations limits the configurations in use. An MCP session without a client keeps its configuration in use for
// half an hour.
const maxGenerations = 8

// pollInterval is the interval between checks for work in progress.
const pollInterval = 200 * time.Millisecond

// startGeneration makes an instance the current one.
func (g *Gateway) startGeneration(i Instance) {
	next := &generation{Instance: i, since: time.Now(), retired: make(chan struct{}), closing: make(chan struct{}),
		closed: make(chan struct{})}
	next.requestClose = sync.OnceFunc(func() { close(next.closing) })
	g.mu.Lock()
	var previous *generation
	if n := len(g.generations); n > 0 {
		previous = g.generations[n-1]
	}
	g.generations = append(g.generations, next)
	all := g.generations
	g.mu.Unlock()
	if len(all) > maxGenerations {
		oldest := all[0]
		g.options.Logger.Warn("the sessions of an early configuration are ended: there are too many configurations", "since", oldest.since)
		oldest.requestClose()
	}
	next.BeginSchedule()
	if previous != nil {
		previous.RetireSchedule()
		close(previous.retired)
	}
	g.active.Go(func() {
		defer close(next.closed)
		next.waitUnused()
		closeCtx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := next.Close(closeCtx); err != nil {
			g.options.Logger.Warn("an instance did not end cleanly", "error", err)
		}
		g.removeGeneration(next)
	})
}

// waitUnused waits until the instance is retired and has no calls, turns or sessions, or has to close.
func (n *generation) waitUnused() {
	select {
	case <-n.retired:
	case <-n.closing:
		return
	}
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		if running, sessions := n.ActivityCounts(); running == 0 && sessions == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-n.closing:
			return
		}
	}
}

// waitDrained waits until no calls or turns are in progress, or ctx is done. Client sessions don't count: they end
// with the instance.
func (n *generation) waitDrained(ctx context.Context) {
	tick := time.NewTicker(pollInterval / 4)
	defer tick.Stop()
	for {
		if running, _ := n.ActivityCounts(); running == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// closeNow closes the instance despite work in progress, and waits for it.
func (n *generation) closeNow() {
	n.requestClose()
	<-n.closed
}

// removeGeneration removes a closed generation.
func (g *Gateway) removeGeneration(n *generation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.generations = slices.DeleteFunc(slices.Clone(g.generations), func(one *generation) bool { return one == n })
}

// currentState returns all generations, the newest one or nil, and whether the gateway is shutting down.
func (g *Gateway) currentState() (all []*generation, current *generation, draining bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.generations) > 0 {
		current = g.generations[len(g.generations)-1]
	}
	return g.generations, current, g.draining
}

// generationOf returns the generation of a request's MCP session, or else the newest one.
func (g *Gateway) generationOf(r *http.Request) *generation {
	all, current, _ := g.currentState()
	if id := r.Header.Get("Mcp-Session-Id"); id != "" {
		for _, gen := range all {
			if gen.HasSession(id) {
				return gen
			}
		}
	}
	return current
}

// Reload opens an instance of the current configuration, which serves new requests from then on. After an error,
// nothing has changed.
func (g *Gateway) Reload() error {
	g.reloadMu.Lock()
	defer g.reloadMu.Unlock()
	if _, _, draining := g.currentState(); draining {
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
	g.startGeneration(next)
	g.options.Logger.Info("the configuration was loaded again")
	return nil
}
