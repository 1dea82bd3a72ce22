package schedule

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// world is a scheduler on a clock that can be set, and what it has done.
type testScheduler struct {
	t     *testing.T
	store *Store
	*Scheduler
	stop func() // ends it, and waits for that

	mu        sync.Mutex
	ran       map[string][]time.Time // by the job's name
	delivered []RunRecord
	ahead     time.Duration // what the clock on the wall was set forward
	held      bool
}

// begin starts a scheduler in a bubble.
func startScheduler(t *testing.T, store *Store, settings SchedulerSettings, run func(context.Context, Job) (string, error)) *testScheduler {
	t.Helper()
	w := &testScheduler{t: t, store: store, ran: map[string][]time.Time{}}
	w.Scheduler = NewScheduler(Options{
		Store: store, Settings: settings, Parallel: 4,
		Run: func(ctx context.Context, j Job) (string, error) {
			w.mu.Lock()
			w.ran[j.Name] = append(w.ran[j.Name], w.now())
			w.mu.Unlock()
			return run(ctx, j)
		},
		Deliver: func(r RunRecord) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.delivered = append(w.delivered, r)
		},
		Paused: func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.held },
		Now:    func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now() },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	w.stop = func() { cancel(); <-done }
	t.Cleanup(w.stop)
	return w
}

func (w *testScheduler) now() time.Time { return time.Now().Add(w.ahead).Round(0) }

// set sets the clock forward, or back.
func (w *testScheduler) set(by time.Duration) {
	w.mu.Lock()
	w.ahead += by
	w.mu.Unlock()
	w.pass(2 * time.Second)
}

// pass lets time pass until all that was due has begun.
func (w *testScheduler) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *testScheduler) times(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ran[name])
}

func (w *testScheduler) want(name string, n int) {
	w.t.Helper()
	if got := w.times(name); got != n {
		w.t.Errorf("%s ran %d times at %s; want %d", name, got, w.now().Format(time.DateTime), n)
	}
}

func (w *testScheduler) add(j Job) Job {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if j.Payload.Command == "" {
		j.Payload.Message = "do it"
	}
	j, err := w.store.AddJob(j, w.now())
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

func (w *testScheduler) job(name string) Job {
	w.t.Helper()
	j, err := w.store.Job(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// last is the last run of a job.
func (w *testScheduler) last(id string) RunRecord {
	w.t.Helper()
	runs, err := w.store.RecentRuns(id, 1)
	if err != nil || len(runs) != 1 {
		w.t.Fatalf("runs of %s: %v %v", id, runs, err)
	}
	return runs[0]
}

func every(d time.Duration) Schedule { return Schedule{Kind: Every, EveryMs: d.Milliseconds()} }
func cronUTC(expr string) Schedule   { return Schedule{Kind: Cron, Expr: expr, TZ: "UTC"} }
func at(t time.Time) Schedule        { return Schedule{Kind: At, AtMs: t.UnixMilli()} }

func well(context.Context, Job) (string, error) { return "done", nil }
