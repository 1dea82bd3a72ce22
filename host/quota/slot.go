package quota

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// waiter is a call that waits for a slot.
type waiter struct {
	maxCalls int           // concurrent calls of its agent
	admitted chan struct{} // closed when it has a slot
}

// Slot is one of an agent's concurrent calls. It is safe for concurrent use.
type Slot struct {
	ledger  *Ledger
	account *account

	mu       sync.Mutex
	paused   int
	released bool
}

type slotKey struct{}

// Acquire waits for a slot among the agent's concurrent calls, in order of arrival and at most maxWait. It calls notify
// before it waits. Use the returned context for the call, and release the slot.
func (l *Ledger) Acquire(ctx context.Context, agent string, limits Limits, maxWait time.Duration,
	notify func(reason string)) (context.Context, *Slot, error) {
	l.mu.Lock()
	a := l.accountOf(agent)
	t := &Slot{ledger: l, account: a}
	withSlot := context.WithValue(ctx, slotKey{}, t)
	if len(a.queue) == 0 && (limits.Calls <= 0 || a.running < limits.Calls) {
		a.running++
		l.mu.Unlock()
		return withSlot, t, nil
	}
	why := fmt.Sprintf("agent %s runs %d calls at a time", agent, limits.Calls)
	if err := a.refusal(CallsKey, why, 0, maxWait); err != nil {
		l.mu.Unlock()
		return ctx, nil, err
	}
	w := &waiter{limits.Calls, make(chan struct{})}
	a.queue = append(a.queue, w)
	a.countWait()
	l.mu.Unlock()
	notify(fmt.Sprintf("waits: %s (%s)", why, CallsKey))
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	var err error
	select {
	case <-w.admitted:
	case <-timer.C:
		err = &Exceeded{CallsKey, fmt.Sprintf("%s, and none of them has ended within %s", why, maxWait)}
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a.waiting--
	if err == nil {
		return withSlot, t, nil
	}
	if i := slices.Index(a.queue, w); i >= 0 {
		a.queue = slices.Delete(a.queue, i, i+1)
		if ctx.Err() == nil {
			a.refused++
		}
		a.admitWaiting() // the next call may have another limit
		return ctx, nil, err
	}
	return withSlot, t, nil // admitted at the same moment
}

// admitWaiting admits waiting calls while there are slots. The caller holds the ledger's mutex.
func (a *account) admitWaiting() {
	for len(a.queue) > 0 {
		w := a.queue[0]
		if w.maxCalls > 0 && a.running >= w.maxCalls {
			return
		}
		a.queue = a.queue[1:]
		a.running++
		close(w.admitted)
	}
}

// addFree adds free slots, or takes them if n is negative.
func (t *Slot) addFree(n int) {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	t.account.running -= n
	t.account.admitWaiting()
}

// Release frees the slot. Later calls have no effect.
func (t *Slot) Release() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.released && t.paused == 0 {
		t.addFree(1)
	}
	t.released = true
}

// Pause frees the slot of a context's call until resume is called, for example while a person answers a question. The
// call then continues at once, even over the limit. It does nothing without a slot.
func Pause(ctx context.Context) (resume func()) {
	t, ok := ctx.Value(slotKey{}).(*Slot)
	if !ok {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused++; t.paused == 1 && !t.released {
		t.addFree(1)
	}
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.paused--; t.paused == 0 && !t.released {
			t.addFree(-1)
		}
	})
}
