package schedule

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// world is a scheduler on a clock that can be set, and what it has done.
type world struct {
	t     *testing.T
	store *Store
	*Scheduler
	stop func() // ends it, and waits for that

	mu        sync.Mutex
	ran       map[string][]time.Time // by the job's name
	delivered []Record
	ahead     time.Duration // what the clock on the wall was set forward
	held      bool
}

// begin starts a scheduler in a bubble.
func begin(t *testing.T, store *Store, settings Settings, run func(context.Context, Job) (string, error)) *world {
	t.Helper()
	w := &world{t: t, store: store, ran: map[string][]time.Time{}}
	w.Scheduler = New(Options{
		Store: store, Settings: settings, Parallel: 4,
		Run: func(ctx context.Context, j Job) (string, error) {
			w.mu.Lock()
			w.ran[j.Name] = append(w.ran[j.Name], w.now())
			w.mu.Unlock()
			return run(ctx, j)
		},
		Deliver: func(r Record) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.delivered = append(w.delivered, r)
		},
		Held: func() bool { w.mu.Lock(); defer w.mu.Unlock(); return w.held },
		Now:  func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now() },
	})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	w.stop = func() { cancel(); <-done }
	t.Cleanup(w.stop)
	return w
}

func (w *world) now() time.Time { return time.Now().Add(w.ahead).Round(0) }

// set sets the clock forward, or back.
func (w *world) set(by time.Duration) {
	w.mu.Lock()
	w.ahead += by
	w.mu.Unlock()
	w.pass(2 * time.Second)
}

// pass lets time pass until all that was due has begun.
func (w *world) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func (w *world) times(name string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.ran[name])
}

func (w *world) want(name string, n int) {
	w.t.Helper()
	if got := w.times(name); got != n {
		w.t.Errorf("%s ran %d times at %s; want %d", name, got, w.now().Format(time.DateTime), n)
	}
}

func (w *world) add(j Job) Job {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if j.Payload.Command == "" {
		j.Payload.Message = "do it"
	}
	j, err := w.store.Add(j, w.now())
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

func (w *world) job(name string) Job {
	w.t.Helper()
	j, err := w.store.Job(name)
	if err != nil {
		w.t.Fatal(err)
	}
	return j
}

// last is the last run of a job.
func (w *world) last(id string) Record {
	w.t.Helper()
	runs, err := w.store.Runs(id, 1)
	if err != nil || len(runs) != 1 {
		w.t.Fatalf("runs of %s: %v %v", id, runs, err)
	}
	return runs[0]
}

func every(d time.Duration) Schedule { return Schedule{Kind: Every, EveryMs: d.Milliseconds()} }
func cronUTC(expr string) Schedule   { return Schedule{Kind: Cron, Expr: expr, TZ: "UTC"} }
func at(t time.Time) Schedule        { return Schedule{Kind: At, AtMs: t.UnixMilli()} }

func well(context.Context, Job) (string, error) { return "done", nil }

// A day with thousands of jobs, one of which hangs and one fails, while others come and go.
func TestADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, jobs := Open(t.TempDir()), 2000
		if testing.Short() {
			jobs = 200
		}
		writeHeartbeat(t, store, "- look at the disk\n")
		f := &file{Version: version}
		for i := range jobs {
			j := Job{ID: fmt.Sprintf("%016d", i), Name: "hourly", Enabled: true, Schedule: every(time.Hour)}
			if i%2 == 0 {
				j.Name, j.Schedule = "odd", cronUTC("30 1-23/2 * * *")
			}
			j.Payload = Payload{Kind: Turn, Message: "do it"}
			f.Jobs = append(f.Jobs, j)
		}
		text, err := f.text()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := replace(store.path(), text); err != nil {
			t.Fatal(err)
		}
		w := begin(t, store, Settings{Timeout: 5 * time.Minute, Heartbeat: 30 * time.Minute},
			func(ctx context.Context, j Job) (string, error) {
				switch j.Name {
				case "hangs":
					<-ctx.Done()
					return "as far as it came", ctx.Err()
				case "fails":
					return "", errors.New("no such model")
				case HeartbeatID:
					return HeartbeatOK, nil
				}
				time.Sleep(10 * time.Millisecond)
				return "done", nil
			})
		w.pass(2 * time.Second)
		if _, err := store.change(func(f *file) (bool, error) {
			for _, name := range []string{"hangs", "fails"} {
				f.Jobs = append(f.Jobs, Job{ID: name, Name: name, Enabled: true, Schedule: every(10 * time.Minute),
					Payload: Payload{Message: "x"}})
			}
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
		w.pass(12 * time.Hour)
		if _, err := store.Remove("fails"); err != nil {
			t.Fatal(err)
		}
		w.Set(Settings{Timeout: 5 * time.Minute, Heartbeat: time.Hour})
		w.pass(12*time.Hour + time.Minute)
		w.want("hourly", jobs/2*24)
		w.want("odd", jobs/2*12)
		w.want("hangs", 24*6)
		w.want("fails", 12*6-1)
		if got := w.times(HeartbeatID); got < 24+11 || got > 24+13 {
			t.Errorf("%d heartbeats", got)
		}
		if j := w.job("hangs"); j.State.LastStatus != Timeout && j.State.LastStatus != Running {
			t.Errorf("hangs: %+v", j.State)
		}
		if r := w.last("fails"); r.Status != Failed || r.Error != "no such model" {
			t.Errorf("fails: %+v", r)
		}
		if r := w.last("hangs"); r.Status != Timeout || r.Text != "as far as it came" || r.Millis != 300_000 {
			t.Errorf("hangs: %+v", r)
		}
		for _, r := range w.delivered {
			if r.Job == HeartbeatID {
				t.Fatalf("delivered: %+v", r)
			}
		}
		w.stop()
		left, err := store.Jobs()
		if err != nil || len(left) != jobs+1 {
			t.Fatalf("%d jobs: %v", len(left), err)
		}
		for _, j := range left {
			if j.ID != "hangs" && (j.State.LastStatus != OK || j.State.NextRunAtMs <= w.now().UnixMilli()) {
				t.Fatalf("%s: %+v", j.Name, j.State)
			}
		}
		former, current := store.logs()
		for _, path := range []string{former, current} {
			info, err := os.Stat(path)
			if err != nil && path == former && testing.Short() {
				continue // one was enough
			}
			if err != nil || info.Size() > maxLog+maxLine || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v %v", path, info, err)
			}
		}
	})
}

func writeHeartbeat(t *testing.T, s *Store, text string) {
	t.Helper()
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(s.HeartbeatFile(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestClocksThatAreSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, Open(t.TempDir()), Settings{}, well)
		w.add(Job{Name: "cron", Schedule: cronUTC("0 * * * *")})
		w.add(Job{Name: "cron once", Schedule: cronUTC("0 * * * *"), Missed: Once})
		w.add(Job{Name: "every", Schedule: every(time.Hour)})
		w.add(Job{Name: "every skip", Schedule: every(time.Hour), Missed: Skip})
		w.add(Job{Name: "at", Schedule: at(time.Now().Add(90 * time.Minute))})
		skip := w.add(Job{Name: "at skip", Schedule: at(time.Now().Add(90 * time.Minute)), Missed: Skip})
		w.pass(time.Hour + time.Minute) // 1:01
		for _, name := range []string{"cron", "cron once", "every", "every skip"} {
			w.want(name, 1)
		}
		w.set(100*time.Hour + 30*time.Minute) // a hundred runs were missed
		w.want("cron", 1)
		w.want("every skip", 1)
		w.want("at skip", 0)
		for _, name := range []string{"cron once", "every"} {
			w.want(name, 2)
		}
		w.want("at", 1)
		if r := w.last(skip.ID); r.Status != Skipped || !strings.Contains(r.Error, "picoclaw did not run") {
			t.Errorf("%+v", r)
		}
		if _, err := w.store.Job("at"); err == nil {
			t.Error("what has run and runs once is still there")
		}
		w.pass(time.Hour)
		for name, n := range map[string]int{"cron": 2, "cron once": 3, "every": 3, "every skip": 2} {
			w.want(name, n)
		}
		w.set(-2 * time.Hour) // the hours that come again are over for those who go by them
		w.pass(2*time.Hour - 10*time.Minute)
		w.want("cron", 2)
		w.want("cron once", 3)
		w.want("every", 4) // it goes by time itself
		w.pass(time.Hour)
		w.want("cron", 3)
		w.set(-24 * 365 * time.Hour) // that was no clock
		w.pass(time.Hour)
		w.want("cron", 4)
		w.want("cron once", 5)
		w.want("every", 6)
	})
}

// What was due while no scheduler ran, or was held, is missed.
func TestMissedWhileNobodyWasThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := Open(t.TempDir())
		w := begin(t, store, Settings{}, well)
		w.add(Job{Name: "at", Schedule: at(time.Now().Add(time.Hour))})
		w.add(Job{Name: "cron", Schedule: cronUTC("30 * * * *")})
		w.mu.Lock()
		w.held = true
		w.mu.Unlock()
		w.pass(3 * time.Hour)
		w.want("at", 0)
		w.mu.Lock()
		w.held = false
		w.mu.Unlock()
		w.Set(Settings{NoJobs: true})
		w.pass(2 * time.Second)
		w.want("at", 0)
		w.Set(Settings{})
		w.pass(2 * time.Second)
		w.want("at", 1)
		w.want("cron", 0)
		w.pass(time.Second)
		w.add(Job{Name: "later", Schedule: at(time.Now().Add(time.Hour))})
		w.stop()
		time.Sleep(3 * time.Hour)
		again := begin(t, store, Settings{}, well)
		again.pass(2 * time.Second)
		again.want("later", 1)
		again.want("cron", 0)
		again.pass(time.Hour)
		again.want("cron", 1)
	})
}

// A job never overlaps itself, and is on the disk as running before it runs: what ends with picoclaw is not run again.
func TestNoRunIsMadeTwice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := Open(t.TempDir())
		hung := func(ctx context.Context, j Job) (string, error) {
			if got, err := store.Job(j.ID); err != nil || got.State.LastStatus != Running {
				t.Errorf("while it runs: %+v %v", got, err)
			}
			<-ctx.Done()
			return "", ctx.Err()
		}
		w := begin(t, store, Settings{}, hung)
		slow := w.add(Job{Name: "slow", Schedule: every(10 * time.Second)})
		once := w.add(Job{Name: "once", Schedule: at(time.Now().Add(time.Second))})
		w.pass(time.Minute)
		w.want("slow", 1)
		if r := w.last(slow.ID); r.Status != Skipped {
			t.Errorf("%+v", r)
		}
		runs, err := store.Runs(slow.ID, 100)
		if err != nil || len(runs) != 1 {
			t.Errorf("%v %v", runs, err)
		}
		text, err := os.ReadFile(store.path())
		if err != nil {
			t.Fatal(err)
		}
		w.stop()
		if r := w.last(once.ID); r.Status != Failed || !strings.Contains(r.Error, errEnded.Error()) {
			t.Errorf("%+v", r)
		}
		// as if it had been killed
		if _, err := replace(store.path(), text); err != nil {
			t.Fatal(err)
		}
		again := begin(t, store, Settings{}, hung)
		again.pass(2 * time.Second)
		again.want("once", 0)
		if r := again.last(once.ID); r.Status != Failed || !strings.Contains(r.Error, "ended while it ran") {
			t.Errorf("%+v", r)
		}
		if _, err := store.Job("once"); err == nil {
			t.Error("it is still there")
		}
	})
}

func TestRunsHaveTheirTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, Open(t.TempDir()), Settings{Timeout: time.Minute}, func(ctx context.Context, _ Job) (string, error) {
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(time.Hour):
				return "done", nil
			}
		})
		short, none := int64(1000), int64(0)
		soon := func() Schedule { return at(time.Now().Add(time.Second)) }
		settings := w.add(Job{Name: "settings", Schedule: soon()})
		own := w.add(Job{Name: "own", Schedule: soon(), TimeoutMs: &short})
		unbounded := w.add(Job{Name: "unbounded", Schedule: soon(), TimeoutMs: &none})
		command := w.add(Job{Name: "command", Schedule: soon(), Payload: Payload{Command: "df"}})
		w.pass(2 * time.Hour)
		w.want("command", 0)
		for id, want := range map[string]struct {
			status Status
			millis int64
			err    string
		}{
			settings.ID:  {Timeout, 60_000, "tools.cron.exec_timeout_minutes"},
			own.ID:       {Timeout, 1000, "within 1s"},
			unbounded.ID: {OK, 3_600_000, ""},
			command.ID:   {Failed, 0, "tools.cron.allow_command"},
		} {
			if r := w.last(id); r.Status != want.status || r.Millis != want.millis || !strings.Contains(r.Error, want.err) {
				t.Errorf("%+v; want %+v", r, want)
			}
		}
	})
}

// What goes on gets its time to end with the scheduler.
func TestAnEndWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, began := Open(t.TempDir()), make(chan struct{}, 2)
		s := New(Options{Store: store, Grace: time.Minute, Run: func(ctx context.Context, j Job) (string, error) {
			began <- struct{}{}
			select {
			case <-ctx.Done():
				return "", ctx.Err()
			case <-time.After(30 * time.Second):
				if j.Name == "long" {
					<-ctx.Done()
					return "", ctx.Err()
				}
				return "done", nil
			}
		}})
		var ids []string
		for _, name := range []string{"short", "long"} {
			j, err := store.Add(Job{Name: name, Schedule: every(time.Second), Payload: Payload{Message: "x"}}, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			ids = append(ids, j.ID)
		}
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-began; <-began; cancel() }()
		start := time.Now()
		s.Run(ctx)
		if took := time.Since(start); took != 61*time.Second {
			t.Errorf("it took %s", took)
		}
		for i, want := range []Status{OK, Failed} {
			if j, err := store.Job(ids[i]); err != nil || j.State.LastStatus != want {
				t.Errorf("%+v %v; want %s", j.State, err, want)
			}
		}
	})
}

// A file that can't be read, or a job that is wrong, is told and does no harm.
func TestBrokenFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := begin(t, Open(t.TempDir()), Settings{}, well)
		w.add(Job{Name: "good", Schedule: every(time.Hour)})
		if _, err := w.store.change(func(f *file) (bool, error) {
			f.Jobs = append(f.Jobs, Job{ID: "bad", Name: "bad", Enabled: true, Schedule: cronUTC("61 * * * *"),
				Payload: Payload{Message: "x"}})
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
		w.pass(time.Hour + time.Second)
		w.want("good", 1)
		w.want("bad", 0)
		if j := w.job("bad"); j.State.LastStatus != Failed || !strings.Contains(j.State.LastError, "61 * * * *") {
			t.Errorf("%+v", j.State)
		}
		text, err := os.ReadFile(w.store.path())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(w.store.path(), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Hour)
		w.want("good", 1)
		if err := os.WriteFile(w.store.path(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Second)
		w.want("good", 2)
	})
}
