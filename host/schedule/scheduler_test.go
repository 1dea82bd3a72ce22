package schedule

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

func TestClockChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startScheduler(t, OpenStore(t.TempDir(), "main"), SchedulerSettings{}, well)
		w.add(Job{Name: "cron", Schedule: cronUTC("0 * * * *")})
		w.add(Job{Name: "cron once", Schedule: cronUTC("0 * * * *"), Missed: RunOnce})
		w.add(Job{Name: "every", Schedule: every(time.Hour)})
		w.add(Job{Name: "every skip", Schedule: every(time.Hour), Missed: SkipMissed})
		w.add(Job{Name: "at", Schedule: at(time.Now().Add(90 * time.Minute))})
		skip := w.add(Job{Name: "at skip", Schedule: at(time.Now().Add(90 * time.Minute)), Missed: SkipMissed})
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
func TestMissedRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := OpenStore(t.TempDir(), "main")
		w := startScheduler(t, store, SchedulerSettings{}, well)
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
		w.UpdateSettings(SchedulerSettings{NoJobs: true})
		w.pass(2 * time.Second)
		w.want("at", 0)
		w.UpdateSettings(SchedulerSettings{})
		w.pass(2 * time.Second)
		w.want("at", 1)
		w.want("cron", 0)
		w.pass(time.Second)
		w.add(Job{Name: "later", Schedule: at(time.Now().Add(time.Hour))})
		w.stop()
		time.Sleep(3 * time.Hour)
		again := startScheduler(t, store, SchedulerSettings{}, well)
		again.pass(2 * time.Second)
		again.want("later", 1)
		again.want("cron", 0)
		again.pass(time.Hour)
		again.want("cron", 1)
	})
}

// A job never overlaps itself, and is on the disk as running before it runs: what ends with picoclaw is not run again.
func TestRestartDoesNotRepeatRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := OpenStore(t.TempDir(), "main")
		hung := func(ctx context.Context, j Job) (string, error) {
			if got, err := store.Job(j.ID); err != nil || got.State.LastStatus != Running {
				t.Errorf("while it runs: %+v %v", got, err)
			}
			<-ctx.Done()
			return "", ctx.Err()
		}
		w := startScheduler(t, store, SchedulerSettings{}, hung)
		slow := w.add(Job{Name: "slow", Schedule: every(10 * time.Second)})
		once := w.add(Job{Name: "once", Schedule: at(time.Now().Add(time.Second))})
		w.pass(time.Minute)
		w.want("slow", 1)
		if r := w.last(slow.ID); r.Status != Skipped {
			t.Errorf("%+v", r)
		}
		runs, err := store.RecentRuns(slow.ID, 100)
		if err != nil || len(runs) != 1 {
			t.Errorf("%v %v", runs, err)
		}
		text, err := os.ReadFile(store.jobsPath())
		if err != nil {
			t.Fatal(err)
		}
		w.stop()
		if r := w.last(once.ID); r.Status != Failed || !strings.Contains(r.Error, errStopped.Error()) {
			t.Errorf("%+v", r)
		}
		// as if it had been killed
		if err := atomicfile.WriteFile(store.jobsPath(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		again := startScheduler(t, store, SchedulerSettings{}, hung)
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

func TestRunTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startScheduler(t, OpenStore(t.TempDir(), "main"), SchedulerSettings{Timeout: time.Minute}, func(ctx context.Context, _ Job) (string, error) {
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
		command := w.add(Job{Name: "command", Schedule: soon(), Payload: JobPayload{Command: "df"}})
		w.pass(2 * time.Hour)
		w.want("command", 0)
		for id, want := range map[string]struct {
			status RunStatus
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
func TestStopGracePeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, began := OpenStore(t.TempDir(), "main"), make(chan struct{}, 2)
		s := NewScheduler(Options{Store: store, Grace: time.Minute, Run: func(ctx context.Context, j Job) (string, error) {
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
			j, err := store.AddJob(Job{Name: name, Schedule: every(time.Second), Payload: JobPayload{Message: "x"}}, time.Now())
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
		for i, want := range []RunStatus{OK, Failed} {
			if j, err := store.Job(ids[i]); err != nil || j.State.LastStatus != want {
				t.Errorf("%+v %v; want %s", j.State, err, want)
			}
		}
	})
}

// A file that can't be read, or a job that is wrong, is told and does no harm.
func TestBrokenFiles(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startScheduler(t, OpenStore(t.TempDir(), "main"), SchedulerSettings{}, well)
		w.add(Job{Name: "good", Schedule: every(time.Hour)})
		if _, err := w.store.updateJobs(func(f *jobFile) (bool, error) {
			f.Jobs = append(f.Jobs, Job{ID: "bad", Name: "bad", Enabled: true, Schedule: cronUTC("61 * * * *"),
				Payload: JobPayload{Message: "x"}})
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
		text, err := os.ReadFile(w.store.jobsPath())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(w.store.jobsPath(), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Hour)
		w.want("good", 1)
		if err := os.WriteFile(w.store.jobsPath(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		w.pass(2 * time.Second)
		w.want("good", 2)
	})
}
