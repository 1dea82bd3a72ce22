package schedule

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// upstream is a file as another picoclaw has written it, with some of what it may write besides.
const upstream = `{
  "version": 1,
  "jobs": [
    {
      "id": "00f3a9c25b7d1e44",
      "name": "water the plants <soon>",
      "enabled": true,
      "schedule": {"kind": "at", "atMs": 1893456000000},
      "payload": {"kind": "agent_turn", "message": "Remind me to water the plants", "channel": "telegram", "to": "42", "deliver": true},
      "state": {"nextRunAtMs": 1893456000000},
      "createdAtMs": 1781000000000,
      "updatedAtMs": 1781000000000,
      "deleteAfterRun": true
    },
    {
      "id": "8c1de07a9b2f4410",
      "name": "disk",
      "enabled": false,
      "schedule": {"kind": "every", "everyMs": 3600000, "jitterMs": 5},
      "payload": {"kind": "agent_turn", "message": "look at the disk", "command": "df -h", "channel": "cli", "to": "direct"},
      "state": {"nextRunAtMs": null, "lastRunAtMs": 1781000000000, "lastStatus": "error", "lastError": "no shell"},
      "createdAtMs": 1781000000000,
      "updatedAtMs": 1781000000000,
      "deleteAfterRun": false,
      "owner": {"name": "me"}
    },
    {
      "id": "77aa00bb11cc22dd",
      "name": "standup",
      "enabled": true,
      "schedule": {"kind": "cron", "expr": "0 9 * * 1-5", "tz": "Europe/Berlin"},
      "payload": {"kind": "agent_turn", "message": "standup"},
      "state": {},
      "createdAtMs": 1781000000000,
      "updatedAtMs": 1781000000000,
      "deleteAfterRun": false
    }
  ],
  "comment": ["kept"]
}
`

// What another picoclaw has written is read, and what is not known of it stays.
func TestUpstreamJobFile(t *testing.T) {
	store := OpenStore(t.TempDir(), "main")
	if err := errors.Join(os.MkdirAll(store.dir, 0o700), os.WriteFile(store.jobsPath(), []byte(upstream), 0o600)); err != nil {
		t.Fatal(err)
	}
	jobs, err := store.Jobs()
	if err != nil || len(jobs) != 3 {
		t.Fatalf("%v %v", jobs, err)
	}
	disk := jobs[1]
	if disk.Payload.Command != "df -h" || disk.Schedule.EveryMs != 3600000 || disk.State.LastError != "no shell" ||
		jobs[2].Schedule.TZ != "Europe/Berlin" || jobs[0].Payload.To != "42" || !jobs[0].DeleteAfterRun {
		t.Errorf("%+v", jobs)
	}
	if _, err := store.updateJobs(func(*jobFile) (bool, error) { return true, nil }); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(generic(t, strings.Replace(upstream, `"nextRunAtMs": null, `, "", 1)), generic(t, read(t, store))); diff != "" {
		t.Errorf("written again (-was +is):\n%s", diff)
	}
	if _, err := store.UpdateJob("disk", time.Now(), func(j *Job) { j.Enabled = true }); err != nil {
		t.Fatal(err)
	}
	text := read(t, store)
	for _, want := range []string{`"jitterMs": 5`, `"owner": {`, `"deliver": true`, `"comment": [`} {
		if !strings.Contains(text, want) {
			t.Errorf("%s is missing in\n%s", want, text)
		}
	}
	if info, err := os.Stat(store.jobsPath()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", info.Mode(), err)
	}
}

func read(t *testing.T, s *Store) string {
	t.Helper()
	text, err := os.ReadFile(s.jobsPath())
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func generic(t *testing.T, text string) (value any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestAddAndUpdateJobs(t *testing.T) {
	store, now := OpenStore(t.TempDir(), "main"), time.Now()
	hourly := Job{Name: "hourly", Schedule: every(time.Hour), Payload: JobPayload{Message: "x"}}
	first, err := store.AddJob(hourly, now)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.ID) != 16 || !first.Enabled || first.DeleteAfterRun || first.Payload.Kind != "agent_turn" ||
		first.State.NextRunAtMs != now.Add(time.Hour).UnixMilli() {
		t.Errorf("%+v", first)
	}
	if _, err := store.AddJob(hourly, now); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"hourly": "2 jobs have the name", "hourlie": `did you mean "hourly"`,
	} {
		if _, err := store.Job(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	negative := int64(-1)
	for want, wrong := range map[string]Job{
		"nothing to run":          {Schedule: every(time.Hour)},
		"is in the past":          {Schedule: at(now.Add(-time.Hour)), Payload: hourly.Payload},
		`missed is "never"`:       {Schedule: every(time.Hour), Payload: hourly.Payload, Missed: "never"},
		"the timeout is -1 ms":    {Schedule: every(time.Hour), Payload: hourly.Payload, TimeoutMs: &negative},
		"more than 65536 bytes":   {Schedule: every(time.Hour), Payload: JobPayload{Message: strings.Repeat("x", 1<<17)}},
		"want at most 200":        {Schedule: every(time.Hour), Payload: hourly.Payload, Name: strings.Repeat("x", 300)},
		`the kind of schedule is`: {Payload: hourly.Payload},
	} {
		if _, err := store.AddJob(wrong, now); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	if _, err := store.UpdateJob(first.ID, now, func(j *Job) { j.Schedule.EveryMs = 1 }); err == nil {
		t.Error("an interval of a millisecond is taken")
	}
	off, err := store.UpdateJob(first.ID, now, func(j *Job) { j.Enabled = false })
	if err != nil || off.State.NextRunAtMs != 0 {
		t.Errorf("%+v %v", off, err)
	}
	if _, err := store.RemoveJob(first.ID); err != nil {
		t.Fatal(err)
	}
	if jobs, err := store.Jobs(); err != nil || len(jobs) != 1 {
		t.Errorf("%v %v", jobs, err)
	}
}

// Several processes change the file in turns, and none undoes what another has done.
func TestConcurrentUpdates(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			store := OpenStore(dir, "main")
			for range 25 {
				if _, err := store.AddJob(Job{Schedule: every(time.Hour), Payload: JobPayload{Message: "x"}}, time.Now()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	if jobs, err := OpenStore(dir, "main").Jobs(); err != nil || len(jobs) != 100 {
		t.Errorf("%d jobs: %v", len(jobs), err)
	}
}

func TestLogRotation(t *testing.T) {
	store := OpenStore(t.TempDir(), "main")
	secret := "token=ghp_0123456789abcdefghijklmnopqrstuvwxyz01"
	for i := range 400 {
		text := strings.Repeat("ä", 50_000)
		if i == 399 {
			text = secret
		}
		if err := store.appendRecord(RunRecord{Job: fmt.Sprint(i % 2), Status: OK, Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	former, current := store.logPaths()
	for _, path := range []string{former, current} {
		if info, err := os.Stat(path); err != nil || info.Size() > maxLog+maxLine {
			t.Errorf("%s: %v %v", path, info, err)
		}
	}
	runs, err := store.RecentRuns("1", 3)
	if err != nil || len(runs) != 3 || strings.Contains(runs[2].Text, "ghp_") || !strings.HasSuffix(runs[0].Text, "ä… (100000 bytes)") {
		t.Errorf("%v %.80v", err, runs)
	}
	f, err := os.OpenFile(current, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = f.WriteString(`{"time":"2026`)
	_ = f.Close()
	if runs, err := store.RecentRuns("", 1); err == nil || !strings.Contains(err.Error(), current) || len(runs) != 1 || runs[0].Job != "1" {
		t.Errorf("with a line that is cut: %v %v", runs, err)
	}
}

func TestHeartbeats(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                       false,
		heartbeatTemplate:                        false,
		"# only\n\n## heads":                     false,
		"- a task":                               true,
		"before\n" + taskMarker + "\n\n# none\n": false,
		"before\n" + taskMarker + "\n# one\n  - a task\n": true,
	} {
		if got := hasTasks(text); got != want {
			t.Errorf("%q has tasks: %t", text, got)
		}
	}
	for answer, want := range map[string]bool{
		"HEARTBEAT_OK": true, " **HEARTBEAT_OK**.\n": true, "": false, "HEARTBEAT_OK, but the disk is full": false,
	} {
		if got := isHeartbeatOK(answer); got != want {
			t.Errorf("%q says that all is well: %t", answer, got)
		}
	}
	for minutes, want := range map[int64]time.Duration{0: 30, 1: 5, 4: 5, 7: 7} {
		if got := HeartbeatInterval(minutes); got != want*time.Minute {
			t.Errorf("%d minutes: %s", minutes, got)
		}
	}
}

// Without a task no model is asked; with one, its answer is delivered and not told to it again.
func TestHeartbeatResponse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := OpenStore(t.TempDir(), "main")
		var prompts []string
		var answer atomic.Value
		const full = "The disk is full."
		answer.Store(full)
		w := startScheduler(t, store, SchedulerSettings{Heartbeat: 30 * time.Minute}, func(_ context.Context, j Job) (string, error) {
			if j.Payload.Kind != HeartbeatTurn {
				t.Errorf("%+v", j)
			}
			prompts = append(prompts, j.Payload.Message)
			return answer.Load().(string), nil
		})
		w.pass(2 * time.Second)
		text, err := os.ReadFile(store.HeartbeatPath())
		if err != nil || string(text) != heartbeatTemplate {
			t.Errorf("the template: %s %v", text, err)
		}
		w.pass(time.Hour)
		w.want(HeartbeatID, 0)
		writeHeartbeat(t, store, heartbeatTemplate+"- look at the disk\n")
		w.pass(30 * time.Minute)
		w.want(HeartbeatID, 1)
		if len(w.delivered) != 1 || w.delivered[0].Text != full || w.last(HeartbeatID).Text != full {
			t.Fatalf("delivered: %+v", w.delivered)
		}
		answer.Store(HeartbeatOK)
		w.pass(30 * time.Minute)
		w.want(HeartbeatID, 2)
		if len(w.delivered) != 1 || w.last(HeartbeatID).Text != HeartbeatOK {
			t.Errorf("delivered: %+v", w.delivered)
		}
		for _, prompt := range prompts {
			if !strings.HasPrefix(prompt, "# Heartbeat Check\n\nCurrent time: 2000-01-01 ") ||
				!strings.Contains(prompt, "respond ONLY with: HEARTBEAT_OK") ||
				!strings.Contains(prompt, "- look at the disk") || strings.Contains(prompt, full) {
				t.Errorf("prompt: %s", prompt)
			}
		}
		writeHeartbeat(t, store, strings.Repeat("- task\n", 20_000))
		w.pass(30 * time.Minute)
		w.want(HeartbeatID, 2)
		if r := w.last(HeartbeatID); r.Status != Failed || !strings.Contains(r.Error, "shorten it") {
			t.Errorf("%+v", r)
		}
		w.UpdateSettings(SchedulerSettings{})
		writeHeartbeat(t, store, "- task\n")
		w.pass(3 * time.Hour)
		w.want(HeartbeatID, 2)
		w.UpdateSettings(SchedulerSettings{Heartbeat: 5 * time.Minute})
		w.pass(6 * time.Minute)
		w.want(HeartbeatID, 3)
	})
}

// FuzzFile: what is read as jobs is written so that it is read again as the same, and considering it does no harm.
func FuzzFile(f *testing.F) {
	for _, seed := range []string{upstream, `{"version":1,"jobs":null}`, `{"version":1,"jobs":[{"id":"a"}]}`, `{}`,
		`{"version":1,"jobs":[{"id":"a","enabled":true,"schedule":{"kind":"every","everyMs":9223372036854775807},"state":{"lastRunAtMs":-9223372036854775808}}]}`,
		`{"version":1,"jobs":[{"id":"a","enabled":true,"schedule":{"kind":"cron","expr":"* * * * *"},"state":{"nextRunAtMs":-5}}]}`,
		`{"version":1,"jobs":[{"id":"a","timeoutMs":0,"missed":"once","Name":"b","name":"c"}],"a":{"b":[1e400]}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		jobs, err := parseJobsFile(text)
		if err != nil {
			return
		}
		again, err := jobs.encodeJobs()
		if err != nil {
			t.Fatalf("it can't be written: %v", err)
		}
		read, err := parseJobsFile(again)
		if err != nil {
			t.Fatalf("what was written can't be read: %v\n%s", err, again)
		}
		third, err := read.encodeJobs()
		if err != nil || string(third) != string(again) {
			t.Fatalf("it is another: %v\n%s\n%s", err, again, third)
		}
		const now = 1790000000000
		for i := range jobs.Jobs {
			j := &jobs.Jobs[i]
			runs, _ := j.advanceIfDue(now, nil)
			if twice, _ := j.advanceIfDue(now, &activeRun{}); runs && twice {
				t.Fatalf("it runs twice: %+v", j)
			}
			if next := j.State.NextRunAtMs; j.Enabled && next != 0 && next <= now {
				t.Fatalf("it would run at once again: %+v", j)
			}
		}
	})
}
