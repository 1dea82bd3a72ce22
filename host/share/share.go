// Package share keeps every agent to its share of a host: how many of its calls run at a time, how many it begins and
// how much it puts out within a minute. Whoever wants more waits for what is its own, so that nobody else has to.
//
// A [Ledger] counts, and outlives the configurations that say how far the counts may go: a call is held to the limits
// that it comes with, whichever calls of its agent run on others. Agents have nothing in common here that one of them
// could use up. The processors are not this package's: they are shared out by the kernel, in control groups.
//
// It must not know what a call does, who has decided on it, or where limits are configured but for their names.
package share

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// Limits are how much of a host an agent may have; a zero is no limit.
type Limits struct {
	Calls     int // that run at a time
	PerMinute int // calls that begin
	Output    int // bytes that its calls put out within a minute
	Plugins   int // processes of plugins
}

// The names of the limits in the configuration.
const (
	CallsKey     = "agents.defaults.limits.calls_at_once"
	PerMinuteKey = "agents.defaults.limits.calls_per_minute"
	OutputKey    = "agents.defaults.limits.output_mb_per_minute"
	PluginsKey   = "agents.defaults.limits.plugins"
)

// MostWaiting is how many calls of one agent wait at a time. They have their arguments in memory.
const MostWaiting = 1024

// Exceeded is the error of a call that can't be made in time.
type Exceeded struct {
	Key string // of the limit
	Why string
}

func (e *Exceeded) Error() string { return e.Why }

// Ledger has the counts of agents. The zero one is ready, and may be used concurrently.
type Ledger struct {
	mu     sync.Mutex
	agents map[string]*account
}

// account is what one agent has; the ledger's mutex guards it.
type account struct {
	calls  *rate.Limiter // nil until the first call
	output *rate.Limiter

	running int
	queue   []*waiter // for one of the calls that run to end
	waiting int       // those of the queue, and who waits for the minute to go by
	waited  uint64
	refused uint64
}

// Usage is what an agent has at the moment, and what has become of its calls.
type Usage struct {
	Running, Waiting int
	Waited, Refused  uint64 // since the ledger was made
}

// Usage returns what each agent has that has made a call.
func (l *Ledger) Usage() map[string]Usage {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make(map[string]Usage, len(l.agents))
	for agent, a := range l.agents {
		all[agent] = Usage{Running: a.running, Waiting: a.waiting, Waited: a.waited, Refused: a.refused}
	}
	return all
}

// of returns an agent's account; mu is held.
func (l *Ledger) of(agent string) *account {
	a := l.agents[agent]
	if a == nil {
		a = &account{}
		if l.agents == nil {
			l.agents = map[string]*account{}
		}
		l.agents[agent] = a
	}
	return a
}

// adjusted is a limiter that lets so much through within a minute. All of a minute's may come at once.
func adjusted(r *rate.Limiter, perMinute int) *rate.Limiter {
	each := rate.Limit(float64(perMinute) / 60)
	switch {
	case r != nil && r.Burst() == perMinute:
		return r
	case perMinute <= 0:
		return rate.NewLimiter(rate.Inf, 0)
	case r == nil || r.Burst() == 0: // there is no count that could go on
		return rate.NewLimiter(each, perMinute)
	}
	r.SetLimit(each)
	r.SetBurst(perMinute)
	return r
}

// Begin counts a call that begins, after waiting for as long as its agent has had its calls and its output of this
// minute, but not longer than most. told hears of the wait before it begins.
func (l *Ledger) Begin(ctx context.Context, agent string, with Limits, most time.Duration,
	told func(why string)) error {
	l.mu.Lock()
	a := l.of(agent)
	a.calls, a.output = adjusted(a.calls, with.PerMinute), adjusted(a.output, with.Output)
	now := time.Now()
	begun, paid := a.calls.ReserveN(now, 1), a.output.ReserveN(now, 0)
	key, why := PerMinuteKey, fmt.Sprintf("agent %s has begun its %d calls of a minute", agent, with.PerMinute)
	delay := begun.DelayFrom(now)
	if owed := paid.DelayFrom(now); owed > delay {
		key, why, delay = OutputKey, fmt.Sprintf("agent %s has put out its %d MB of a minute", agent, with.Output>>20), owed
	}
	if delay == 0 {
		l.mu.Unlock()
		return nil
	}
	if err := a.refuses(key, why, delay, most); err != nil {
		begun.CancelAt(now)
		l.mu.Unlock()
		return err
	}
	a.wait()
	l.mu.Unlock()
	told(fmt.Sprintf("waits for %s: %s (%s)", delay.Round(time.Second/10), why, key))
	timer := time.NewTimer(delay)
	defer timer.Stop()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		a.waiting--
	}()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		begun.Cancel()
		return ctx.Err()
	}
}

// refuses says that a wait can't end in time, if it can't; mu is held.
func (a *account) refuses(key, why string, delay, most time.Duration) error {
	switch {
	case a.waiting >= MostWaiting:
		why += fmt.Sprintf(", and %d more wait", a.waiting)
	case delay > most:
		why += fmt.Sprintf(", and could make this one only in %s", delay.Round(time.Second))
	default:
		return nil
	}
	a.refused++
	return &Exceeded{key, why}
}

// wait counts a wait; mu is held.
func (a *account) wait() {
	a.waiting++
	a.waited++
}

// Put counts what a call has put out. It says how long whoever can slow it down should do so.
func (l *Ledger) Put(agent string, with Limits, bytes int) time.Duration {
	if with.Output <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.of(agent)
	a.output = adjusted(a.output, with.Output)
	now := time.Now()
	var owed time.Duration
	for ; bytes > 0; bytes -= with.Output {
		owed = a.output.ReserveN(now, min(bytes, with.Output)).DelayFrom(now)
	}
	return owed
}
