package share

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// waiter waits for its turn.
type waiter struct {
	most int           // of its agent's calls that may run with it
	turn chan struct{} // closed when it has it
}

// Turn is a call's place among those of its agent that run. It may be used concurrently.
type Turn struct {
	ledger  *Ledger
	account *account

	mu     sync.Mutex
	paused int
	over   bool
}

type turnKey struct{}

// Take waits for a place among the calls of an agent that run, but not longer than most. Those who wait have their turn
// in the order in which they came. told hears of the wait before it begins. The context that is returned is the call's;
// End gives the place back.
func (l *Ledger) Take(ctx context.Context, agent string, with Limits, most time.Duration, told func(why string)) (
	context.Context, *Turn, error) {
	l.mu.Lock()
	a := l.of(agent)
	t := &Turn{ledger: l, account: a}
	called := context.WithValue(ctx, turnKey{}, t)
	if len(a.queue) == 0 && (with.Calls <= 0 || a.running < with.Calls) {
		a.running++
		l.mu.Unlock()
		return called, t, nil
	}
	why := fmt.Sprintf("agent %s runs %d calls at a time", agent, with.Calls)
	if err := a.refuses(CallsKey, why, 0, most); err != nil {
		l.mu.Unlock()
		return ctx, nil, err
	}
	w := &waiter{with.Calls, make(chan struct{})}
	a.queue = append(a.queue, w)
	a.wait()
	l.mu.Unlock()
	told(fmt.Sprintf("waits: %s (%s)", why, CallsKey))
	timer := time.NewTimer(most)
	defer timer.Stop()
	var err error
	select {
	case <-w.turn:
	case <-timer.C:
		err = &Exceeded{CallsKey, fmt.Sprintf("%s, and none of them has ended within %s", why, most)}
	case <-ctx.Done():
		err = ctx.Err()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	a.waiting--
	if err == nil {
		return called, t, nil
	}
	if i := slices.Index(a.queue, w); i >= 0 {
		a.queue = slices.Delete(a.queue, i, i+1)
		if ctx.Err() == nil {
			a.refused++
		}
		a.next() // who came behind it may have another limit
		return ctx, nil, err
	}
	return called, t, nil // it had its turn at this moment
}

// next gives those their turn for whom there is room; the ledger's mutex is held.
func (a *account) next() {
	for len(a.queue) > 0 {
		w := a.queue[0]
		if w.most > 0 && a.running >= w.most {
			return
		}
		a.queue = a.queue[1:]
		a.running++
		close(w.turn)
	}
}

func (t *Turn) give(places int) {
	t.ledger.mu.Lock()
	defer t.ledger.mu.Unlock()
	t.account.running -= places
	t.account.next()
}

// End gives the place back, once.
func (t *Turn) End() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.over && t.paused == 0 {
		t.give(1)
	}
	t.over = true
}

// Pause gives the place of a context's call to others while a person thinks, until resume is called. The call goes on
// at once then: it has waited already. A context without a turn has none to give.
func Pause(ctx context.Context) (resume func()) {
	t, ok := ctx.Value(turnKey{}).(*Turn)
	if !ok {
		return func() {}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.paused++; t.paused == 1 && !t.over {
		t.give(1)
	}
	return sync.OnceFunc(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.paused--; t.paused == 0 && !t.over {
			t.give(-1)
		}
	})
}
