package quota

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

const most = time.Minute

func quiet(string) {}

// take takes a place at once, or fails the test.
func take(t *testing.T, l *UsageLedger, agent string, with AgentLimits) *CallSlot {
	t.Helper()
	_, turn, err := l.AcquireSlot(t.Context(), agent, with, most, func(why string) { t.Errorf("%s waits: %s", agent, why) })
	if err != nil {
		t.Fatal(err)
	}
	return turn
}

func TestFullQueueDelaysOneAgentOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, with := &UsageLedger{}, AgentLimits{Calls: 2}
		first, second := take(t, l, "greedy", with), take(t, l, "greedy", with)
		defer second.Release()
		ctx, give := context.WithCancel(t.Context())
		var waited sync.WaitGroup
		for range MaxWaiting {
			waited.Go(func() {
				_, turn, err := l.AcquireSlot(ctx, "greedy", with, most, quiet)
				if err == nil {
					turn.Release()
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if running, waiting := l.CountCalls("greedy"); running != 2 || waiting != MaxWaiting {
			t.Errorf("the greedy one: %d run, %d wait", running, waiting)
		}
		var over *ExceededError
		if _, _, err := l.AcquireSlot(t.Context(), "greedy", with, most, quiet); !errors.As(err, &over) || over.Key != CallsKey {
			t.Errorf("a queue that is full: %v", err)
		}
		take(t, l, "other", with).Release()
		if err := l.WaitForRate(t.Context(), "other", with, most, quiet); err != nil {
			t.Error(err)
		}
		give() // those that wait leave
		waited.Wait()
		if running, waiting := l.CountCalls("greedy"); running != 2 || waiting != 0 {
			t.Errorf("after they have left: %d run, %d wait", running, waiting)
		}
		first.Release()
		first.Release() // is one place all the same
		take(t, l, "greedy", with).Release()
	})
}

// A command over the limit waits, and holds no slot of the agent's other calls. Other agents do not wait.
func TestCommandsWaitForCommandsOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, command, other := &UsageLedger{}, AgentLimits{Calls: 4, Commands: 2}, AgentLimits{Calls: 4}
		first, second := take(t, l, "greedy", command), take(t, l, "greedy", command)
		var told string
		admitted := make(chan *CallSlot)
		go func() {
			_, turn, err := l.AcquireSlot(t.Context(), "greedy", command, most, func(why string) { told = why })
			if err != nil {
				t.Error(err)
			}
			admitted <- turn
		}()
		synctest.Wait()
		if told != "waits: agent greedy runs 2 commands at a time ("+CommandsKey+")" {
			t.Errorf("told %q", told)
		}
		for range 2 {
			defer take(t, l, "greedy", other).Release()
		}
		take(t, l, "modest", command).Release()
		var over *ExceededError
		if _, _, err := l.AcquireSlot(t.Context(), "greedy", command, time.Second, quiet); !errors.As(err, &over) ||
			over.Key != CommandsKey || !strings.HasSuffix(over.Why, "and this call's turn did not come within 1s") {
			t.Errorf("after its deadline: %v", err)
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, nil)
		defer cancel()
		if _, _, err := l.AcquireSlot(ctx, "greedy", command, most, quiet); !errors.Is(err, context.DeadlineExceeded) ||
			!strings.Contains(err.Error(), CommandsKey) {
			t.Errorf("cancelled: %v", err)
		}
		first.Release()
		(<-admitted).Release()
		second.Release()
		if running, waiting := l.CountCalls("greedy"); running != 2 || waiting != 0 {
			t.Errorf("at the end: %d run, %d wait", running, waiting)
		}
		take(t, l, "greedy", command).Release()
	})
}

func TestPausedCommandFreesSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, with := &UsageLedger{}, AgentLimits{Calls: 1, Commands: 1}
		ctx, turn, err := l.AcquireSlot(t.Context(), "a", with, most, quiet)
		if err != nil {
			t.Fatal(err)
		}
		resume := PauseSlot(ctx)
		take(t, l, "a", with).Release()
		resume()
		turn.Release()
		call := take(t, l, "a", AgentLimits{Calls: 1})
		var over *ExceededError
		if _, _, err := l.AcquireSlot(t.Context(), "a", with, most, quiet); !errors.As(err, &over) || over.Key != CallsKey {
			t.Errorf("without a slot of calls: %v", err)
		}
		call.Release()
		take(t, l, "a", with).Release()
	})
}

func TestSlotsAreGivenInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, with := &UsageLedger{}, AgentLimits{Calls: 3}
		var mu sync.Mutex
		var running, highest int
		var order []int
		var calls sync.WaitGroup
		for n := range 50 {
			calls.Go(func() {
				_, turn, err := l.AcquireSlot(t.Context(), "a", with, most, quiet)
				if err != nil {
					t.Error(err)
					return
				}
				defer turn.Release()
				mu.Lock()
				running++
				highest = max(highest, running)
				order = append(order, n)
				mu.Unlock()
				time.Sleep(time.Duration(1+n) * time.Millisecond)
				mu.Lock()
				running--
				mu.Unlock()
			})
			synctest.Wait() // each comes after the one before
		}
		calls.Wait()
		for i, n := range order {
			if i != n {
				t.Fatalf("the order is %v", order)
			}
		}
		if highest != 3 || len(order) != 50 {
			t.Errorf("%d ran at a time, of %d", highest, len(order))
		}
	})
}

func TestLimitsHoldUnderConcurrency(t *testing.T) {
	l, with := &UsageLedger{}, AgentLimits{Calls: 4}
	var running [2]atomic.Int64
	var calls sync.WaitGroup
	for n := range 400 {
		calls.Go(func() {
			agent := n % 2
			ctx, cancel := context.WithCancel(t.Context())
			if n%7 == 0 {
				cancel() // it may be gone before its turn, or in it
			}
			defer cancel()
			called, turn, err := l.AcquireSlot(ctx, []string{"a", "b"}[agent], with, most, quiet)
			if err != nil {
				return
			}
			defer turn.Release()
			if now := running[agent].Add(1); now > 4 {
				t.Errorf("%d at a time", now)
			}
			running[agent].Add(-1)
			if n%5 == 0 {
				PauseSlot(called)() // somebody is asked
			}
		})
	}
	calls.Wait()
	for _, agent := range []string{"a", "b"} {
		if runs, waits := l.CountCalls(agent); runs != 0 || waits != 0 {
			t.Errorf("%s: %d run, %d wait", agent, runs, waits)
		}
	}
}

func TestWaitTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, with := &UsageLedger{}, AgentLimits{Calls: 1}
		defer take(t, l, "a", with).Release()
		var told string
		_, _, err := l.AcquireSlot(t.Context(), "a", with, most, func(why string) { told = why })
		var over *ExceededError
		if !errors.As(err, &over) || over.Key != CallsKey || !strings.Contains(told, CallsKey) {
			t.Errorf("%v, told %q", err, told)
		}
	})
}

func TestPausedCallFreesSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, with := &UsageLedger{}, AgentLimits{Calls: 1}
		ctx, turn, err := l.AcquireSlot(t.Context(), "a", with, most, quiet)
		if err != nil {
			t.Fatal(err)
		}
		resume, again := PauseSlot(ctx), PauseSlot(ctx)
		second := take(t, l, "a", with)
		again()
		if n, _ := l.CountCalls("a"); n != 1 {
			t.Errorf("%d run while one of them waits", n)
		}
		resume()
		resume()
		if n, _ := l.CountCalls("a"); n != 2 {
			t.Errorf("%d run when it goes on", n)
		}
		second.Release()
		turn.Release()
		PauseSlot(ctx)()
		if n, _ := l.CountCalls("a"); n != 0 {
			t.Errorf("%d run when all have ended", n)
		}
		PauseSlot(t.Context())()
	})
}

func TestRatesPerMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, with := &UsageLedger{}, AgentLimits{PerMinute: 60, Output: 600}
		began := time.Now()
		begin := func(agent string, most time.Duration) error {
			return l.WaitForRate(t.Context(), agent, with, most, quiet)
		}
		for range 61 {
			if err := begin("a", most); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("61 calls began within %s", took)
		}
		var over *ExceededError
		if err := begin("a", time.Millisecond); !errors.As(err, &over) || over.Key != PerMinuteKey {
			t.Errorf("a call that can't begin in time: %v", err)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if err := l.WaitForRate(gone, "a", with, most, quiet); !errors.Is(err, context.Canceled) {
			t.Errorf("a call that was cancelled: %v", err)
		}
		began = time.Now()
		if err := begin("a", most); err != nil || time.Since(began) != time.Second {
			t.Errorf("who is refused or leaves takes no place: %v, %s", err, time.Since(began))
		}
		if owed := l.CountOutput("b", with, 1200); owed != time.Minute {
			t.Errorf("two minutes' output is owed for %s", owed)
		}
		if err := begin("b", most/2); !errors.As(err, &over) || over.Key != OutputKey {
			t.Errorf("a call of who has put out too much: %v", err)
		}
		began = time.Now()
		if err := begin("b", most); err != nil || time.Since(began) != time.Minute {
			t.Errorf("it waits for its minute: %v, %s", err, time.Since(began))
		}
		if _, waiting := l.CountCalls("b"); waiting != 0 {
			t.Errorf("%d wait", waiting)
		}
	})
}

func TestChangedLimitsKeepCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &UsageLedger{}
		before, after := AgentLimits{Calls: 2, PerMinute: 60}, AgentLimits{Calls: 1, PerMinute: 30}
		for range 60 {
			if err := l.WaitForRate(t.Context(), "a", before, most, quiet); err != nil {
				t.Fatal(err)
			}
		}
		began := time.Now()
		if err := l.WaitForRate(t.Context(), "a", after, most, quiet); err != nil || time.Since(began) != 2*time.Second {
			t.Errorf("%v, after %s", err, time.Since(began))
		}
		first, second := take(t, l, "a", before), take(t, l, "a", before)
		got := make(chan *CallSlot)
		go func() {
			_, turn, err := l.AcquireSlot(t.Context(), "a", after, most, quiet)
			if err != nil {
				t.Error(err)
			}
			got <- turn
		}()
		synctest.Wait()
		first.Release()
		synctest.Wait()
		if running, waiting := l.CountCalls("a"); running != 1 || waiting != 1 {
			t.Errorf("one of two has ended: %d run, %d wait", running, waiting)
		}
		second.Release()
		(<-got).Release()
		if err := l.WaitForRate(t.Context(), "a", AgentLimits{}, most, quiet); err != nil {
			t.Error(err)
		}
	})
}
