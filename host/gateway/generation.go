package gateway

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"
)

// generation is an instance from when it is made until all that has begun on it has ended.
type generation struct {
	Instance
	since   time.Time
	retired chan struct{} // closed when another one is the current one
	over    chan struct{} // closed when it is to end whatever runs
	finish  func()        // closes over
	done    chan struct{} // closed when it has ended
}

// maxGenerations bounds how many configurations are in use. A client that has gone without a word has its session for
// half an hour, and that its configuration.
const maxGenerations = 8

// lookInterval is how often it is looked whether an instance of an earlier configuration is still used.
const lookInterval = 200 * time.Millisecond

// begin makes an instance the current one.
func (g *Gateway) begin(i Instance) {
	next := &generation{Instance: i, since: time.Now(), retired: make(chan struct{}), over: make(chan struct{}),
		done: make(chan struct{})}
	next.finish = sync.OnceFunc(func() { close(next.over) })
	g.mu.Lock()
	var before *generation
	if n := len(g.running); n > 0 {
		before = g.running[n-1]
	}
	g.running = append(g.running, next)
	all := g.running
	g.mu.Unlock()
	if len(all) > maxGenerations {
		oldest := all[0]
		g.options.Logger.Warn("the sessions of an early configuration are ended: there are too many configurations", "since", oldest.since)
		oldest.finish()
	}
	next.Begin()
	if before != nil {
		before.Retire()
		close(before.retired)
	}
	g.ended.Go(func() {
		defer close(next.done)
		next.wait()
		soon, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		if err := next.Close(soon); err != nil {
			g.options.Logger.Warn("an instance did not end cleanly", "error", err)
		}
		g.forget(next)
	})
}

// wait returns when the instance is retired and nothing uses it any more, or it is to end all the same.
func (n *generation) wait() {
	select {
	case <-n.retired:
	case <-n.over:
		return
	}
	tick := time.NewTicker(lookInterval)
	defer tick.Stop()
	for {
		if running, sessions := n.Busy(); running == 0 && sessions == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-n.over:
			return
		}
	}
}

// drained returns when nothing runs any more, or ctx is done. Sessions of clients do not count: they end with the
// instance.
func (n *generation) drained(ctx context.Context) {
	tick := time.NewTicker(lookInterval / 4)
	defer tick.Stop()
	for {
		if running, _ := n.Busy(); running == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// close ends the instance, whatever runs. It returns when it has ended.
func (n *generation) close() {
	n.finish()
	<-n.done
}

func (g *Gateway) forget(n *generation) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running = slices.DeleteFunc(slices.Clone(g.running), func(one *generation) bool { return one == n })
}

// state returns the generations, the newest of them, which is nil for none, and whether the gateway ends.
func (g *Gateway) state() (all []*generation, current *generation, draining bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.running) > 0 {
		current = g.running[len(g.running)-1]
	}
	return g.running, current, g.draining
}

// of returns the generation that a request is for: that of its session, or the newest.
func (g *Gateway) of(r *http.Request) *generation {
	all, current, _ := g.state()
	if id := r.Header.Get("Mcp-Session-Id"); id != "" {
		for _, one := range all {
			if one.Has(id) {
				return one
			}
		}
	}
	return current
}

// Reload makes an instance of the configuration as it is now, and has it serve whoever comes from now on. If it can't
// be made, or is not in order, everything stays as it is.
func (g *Gateway) Reload() error {
	g.reloading.Lock()
	defer g.reloading.Unlock()
	if _, _, draining := g.state(); draining {
		return fmt.Errorf("the gateway is ending")
	}
	next, err := g.options.Open()
	g.mu.Lock()
	g.last = err
	g.mu.Unlock()
	if err != nil {
		g.options.Logger.Error("the configuration was not loaded again; the one before stays in force", "error", err)
		return err
	}
	g.begin(next)
	g.options.Logger.Info("the configuration was loaded again")
	return nil
}
