package schedule

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/picoclaw/picoclaw/internal/atomicfile"
)

// A day with more than a thousand jobs, one of which hangs and one fails, while others come and go.
func TestOneDayOfRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, jobs := OpenStore(t.TempDir(), "main"), 1300
		if testing.Short() {
			jobs = 200
		}
		writeHeartbeat(t, store, "- look at the disk\n")
		f := &jobFile{Version: fileVersion}
		for i := range jobs {
			j := Job{ID: fmt.Sprintf("%016d", i), Name: "hourly", Enabled: true, Schedule: every(time.Hour)}
			if i%2 == 0 {
				j.Name, j.Schedule = "odd", cronUTC("30 1-23/2 * * *")
			}
			j.Payload = JobPayload{Kind: AgentTurn, Message: "do it"}
			f.Jobs = append(f.Jobs, j)
		}
		text, err := f.encodeJobs()
		if err != nil {
			t.Fatal(err)
		}
		if err := atomicfile.WriteFile(store.jobsPath(), text, 0o600); err != nil {
			t.Fatal(err)
		}
		w := startScheduler(t, store, SchedulerSettings{Timeout: 5 * time.Minute, Heartbeat: 30 * time.Minute},
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
		if _, err := store.updateJobs(func(f *jobFile) (bool, error) {
			for _, name := range []string{"hangs", "fails"} {
				f.Jobs = append(f.Jobs, Job{ID: name, Name: name, Enabled: true, Schedule: every(10 * time.Minute),
					Payload: JobPayload{Message: "x"}})
			}
			return true, nil
		}); err != nil {
			t.Fatal(err)
		}
		w.pass(12 * time.Hour)
		if _, err := store.RemoveJob("fails"); err != nil {
			t.Fatal(err)
		}
		w.UpdateSettings(SchedulerSettings{Timeout: 5 * time.Minute, Heartbeat: time.Hour})
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
		former, current := store.logPaths()
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
	if err := os.WriteFile(s.HeartbeatPath(), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
