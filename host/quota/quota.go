// Package quota limits each agent's use of a host: concurrent calls and commands, calls per minute and output per
// minute. A call over a limit waits for its own agent's quota, so agents do not delay each other.
//
// A [UsageLedger] keeps the counts across configuration reloads; each call brings its own limits. The kernel shares the
// CPUs, in cgroups.
//
// It must not know what a call does, who decided on it, or where limits are configured except for their names.
package quota

import (
	"context"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
)

// AgentLimits are the limits of an agent's use; zero means no limit.
type AgentLimits struct {
	Calls     int // concurrent calls
	Commands  int // concurrent calls with a command
	PerMinute int // calls that begin within a minute
	Output    int // bytes of output within a minute
	Plugins   int // plugin processes
}

// The names of the limits in the configuration.
const (
	CallsKey     = "agents.defaults.limits.calls_at_once"
	CommandsKey  = "agents.defaults.limits.commands_per_cpu"
	PerMinuteKey = "agents.defaults.limits.calls_per_minute"
	OutputKey    = "agents.defaults.limits.output_mb_per_minute"
	PluginsKey   = "agents.defaults.limits.plugins"
)

// MaxWaiting is the maximum number of waiting calls of one agent, since each holds its arguments in memory.
const MaxWaiting = 1024

// ExceededError says that a call's wait for a limit would exceed its timeout.
type ExceededError struct {
	Key string // of the limit
	Why string
}

func (e *ExceededError) Error() string { return e.Why }

// WaitCancelledError says that a call was cancelled while it waited for a limit.
type WaitCancelledError struct {
	Key, Why string // of the limit
	Err      error  // of the context
}

func (e *WaitCancelledError) Error() string {
	return fmt.Sprintf("cancelled while it waited: %s (%s)", e.Why, e.Key)
}

// Unwrap returns the error of the context.
func (e *WaitCancelledError) Unwrap() error { return e.Err }

// UsageLedger counts the calls and the output of each agent. The zero value is ready for use. It is safe for concurrent
// use.
type UsageLedger struct {
	mu     sync.Mutex
	agents map[string]*agentCounters
}

// agentCounters has the counts of one agent. The mutex of the ledger guards it.
type agentCounters struct {
	calls  *rate.Limiter // nil until the first call
	output *rate.Limiter

	callGate, commandGate admissionGate

	waiting int // calls at the gates, and calls that wait for the rate limit
}

// CountCalls returns how many calls of an agent run, and how many wait.
func (l *UsageLedger) CountCalls(agent string) (running, waiting int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.getOrCreateCounters(agent)
	return a.callGate.running, a.waiting
}

// getOrCreateCounters returns the counters of an agent, and creates missing ones. The caller holds mu.
func (l *UsageLedger) getOrCreateCounters(agent string) *agentCounters {
	a := l.agents[agent]
	if a == nil {
		a = &agentCounters{}
		if l.agents == nil {
			l.agents = map[string]*agentCounters{}
		}
		l.agents[agent] = a
	}
	return a
}

// adjustLimiter returns a limiter for a rate per minute, which permits the calls of a whole minute at once. It reuses
// the limiter r with its count if possible.
func adjustLimiter(r *rate.Limiter, perMinute int) *rate.Limiter {
	each := rate.Limit(float64(perMinute) / 60)
	switch {
	case r != nil && r.Burst() == perMinute:
		return r
	case perMinute <= 0:
		return rate.NewLimiter(rate.Inf, 0)
	case r == nil || r.Burst() == 0: // no count to keep
		return rate.NewLimiter(each, perMinute)
	}
	r.SetLimit(each)
	r.SetBurst(perMinute)
	return r
}

// WaitForRate counts a call, and waits until the agent is within its calls and output per minute. It returns an error
// if that takes longer than maxWait. It calls notify before it waits.
func (l *UsageLedger) WaitForRate(ctx context.Context, agent string, limits AgentLimits, maxWait time.Duration,
	notify func(reason string)) error {
	l.mu.Lock()
	a := l.getOrCreateCounters(agent)
	a.calls, a.output = adjustLimiter(a.calls, limits.PerMinute), adjustLimiter(a.output, limits.Output)
	now := time.Now()
	call, output := a.calls.ReserveN(now, 1), a.output.ReserveN(now, 0)
	key, why := PerMinuteKey, fmt.Sprintf("agent %s has made its %d calls of this minute", agent, limits.PerMinute)
	delay := call.DelayFrom(now)
	if outputDelay := output.DelayFrom(now); outputDelay > delay {
		key, why, delay = OutputKey, fmt.Sprintf("agent %s has put out its %d MB of a minute", agent, limits.Output>>20), outputDelay
	}
	if delay == 0 {
		l.mu.Unlock()
		return nil
	}
	if err := a.refuseLongDelay(key, why, delay, maxWait); err != nil {
		call.CancelAt(now)
		l.mu.Unlock()
		return err
	}
	a.waiting++
	l.mu.Unlock()
	notify(fmt.Sprintf("waits for %s: %s (%s)", delay.Round(time.Second/10), why, key))
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
		call.Cancel()
		return &WaitCancelledError{key, why, ctx.Err()}
	}
}

// refuseLongDelay returns an error if the delay of a call exceeds maxWait. The caller holds mu.
func (a *agentCounters) refuseLongDelay(key, why string, delay, maxWait time.Duration) error {
	switch {
	case a.waiting >= MaxWaiting:
		why += fmt.Sprintf(", and %d more wait", a.waiting)
	case delay > maxWait:
		why += fmt.Sprintf(", and could make this one only in %s", delay.Round(time.Second))
	default:
		return nil
	}
	return &ExceededError{key, why}
}

// CountOutput counts output of a call, and returns how long to delay it to keep the agent's limit.
func (l *UsageLedger) CountOutput(agent string, limits AgentLimits, bytes int) time.Duration {
	if limits.Output <= 0 {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.getOrCreateCounters(agent)
	a.output = adjustLimiter(a.output, limits.Output)
	now := time.Now()
	var delay time.Duration
	for ; bytes > 0; bytes -= limits.Output {
		delay = a.output.ReserveN(now, min(bytes, limits.Output)).DelayFrom(now)
	}
	return delay
}
