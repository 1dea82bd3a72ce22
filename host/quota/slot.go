package quota

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// admissionGate admits a limited number of an agent's calls in order of arrival. The ledger's mutex guards it.
type admissionGate struct {
	running int
	queue   []*waitingCall
}

// waitingCall is a call that waits at an admissionGate.
type waitingCall struct {
	limit    int           // concurrent calls of its agent
	admitted chan struct{} // closed when the gate has admitted it
}

// admitWaiting admits waiting calls up to their limits.
func (g *admissionGate) admitWaiting() {
	for len(g.queue) > 0 {
		w := g.queue[0]
		if w.limit > 0 && g.running >= w.limit {
			return
		}
		g.queue = g.queue[1:]
		g.running++
		close(w.admitted)
	}
}

// CallSlot is one of an agent's slots for concurrent calls, and for commands. It is safe for concurrent use.
type CallSlot struct {
	ledger *UsageLedger
	gates  []*admissionGate // that admitted it

	mu       sync.Mutex
	paused   int
	released bool
}

type slotKey struct{}

// AcquireSlot waits for a slot among the agent's concurrent calls, in order of arrival and at most maxWait. If
// limits.Commands is set, as for a call with a command, it first waits for a slot among the commands. It calls notify
// before it waits. Use the returned context for the call, and release the slot.
func (l *UsageLedger) AcquireSlot(ctx context.Context, agent string, limits AgentLimits, maxWait time.Duration,
	notify func(reason string)) (context.Context, *CallSlot, error) {
	l.mu.Lock()
	a := l.getOrCreateCounters(agent)
	l.mu.Unlock()
	t, deadline := &CallSlot{ledger: l}, time.Now().Add(maxWait)
	if limits.Commands > 0 { // first: a waiting command holds no slot of other calls
		why := fmt.Sprintf("agent %s runs %d commands at a time", agent, limits.Commands)
		if err := l.enterGate(ctx, a, &a.commandGate, limits.Commands, CommandsKey, why, deadline, notify); err != nil {
			return ctx, nil, err
		}
		t.gates = append(t.gates, &a.commandGate)
	}
	why := fmt.Sprintf("agent %s runs %d calls at a time", agent, limits.Calls)
	if err := l.enterGate(ctx, a, &a.callGate, limits.Calls, CallsKey, why, deadline, notify); err != nil {
		t.Release()
		return ctx, nil, err
	}
	t.gates = append(t.gates, &a.callGate)
	return context.WithValue(ctx, slotKey{}, t), t, nil
}

func (l *UsageLedger) enterGate(ctx context.Context, a *agentCounters, g *admissionGate, limit int, key, why string, deadline time.Time,
	notify func(reason string)) error {
	maxWait := max(time.Until(deadline), 0)
	l.mu.Lock()
	if len(g.queue) == 0 && (limit <= 0 || g.running < limit) {
		g.running++
		l.mu.Unlock()
		return nil
	}
	if err := a.refuseLongDelay(key, why, 0, maxWait); err != nil {
		l.mu.Unlock()
		return err
	}
	w := &waitingCall{limit, make(chan struct{})}
	g.queue = append(g.queue, w)
	a.waiting++
	l.mu.Unlock()
	notify(fmt.Sprintf("waits: %s (%s)", why, key))
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	var err error
	select {
	case <-w.admitted:
	case <-timer.C:
		err = &ExceededError{key, fmt.Sprintf("%s, and this call's turn did not come within %s", why, maxWait.Round(time.Second/10))}
	case <-ctx.Done():
		err = &WaitCancelledError{key, why, ctx.Err()}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a.waiting--
	i := slices.Index(g.queue, w)
	if err == nil || i < 0 { // i < 0: admitted at the same moment
		return nil
	}
	g.queue = slices.Delete(g.queue, i, i+1)
	g.admitWaiting() // the next call may have another limit
	return err
}

// releaseGates frees the slot n times at its gates; a negative n takes it again.
func (t *CallSlot) releaseGates(n int) {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	for _, g := range t.gates {
		g.running -= n
		g.admitWaiting()
	}
}

// Release frees the slot. Further calls have no effect.
func (t *CallSlot) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.released && t.paused == 0 {
		t.releaseGates(1)
	}
	t.released = true
}

// PauseSlot frees the slot of the call in ctx until resume is called, for example while a person answers a question.
// After resume the call continues at once, even over the limit. Without a slot it does nothing.
func PauseSlot(ctx context.Context) (resume func()) {
	t, ok := ctx.Value(slotKey{}).(*CallSlot)
	if !ok {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused++; t.paused == 1 && !t.released {
		t.releaseGates(1)
	}
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.paused--; t.paused == 0 && !t.released {
			t.releaseGates(-1)
		}
	})
}
