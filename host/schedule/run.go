package schedule

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/internal/smallfile"
	"github.com/picoclaw/picoclaw/internal/statefiles"
)

// saveAndStartRuns writes the results of ended runs and the due runs to jobs.json, then starts the due runs. With a
// nil context it starts none.
func (s *Scheduler) saveAndStartRuns(runCtx context.Context) error {
	s.mu.Lock()
	results, active := s.unsaved, maps.Clone(s.running) // copied at one instant, so each run is in one of them
	s.unsaved = map[string]RunRecord{}
	s.mu.Unlock()
	if runCtx == nil && len(results) == 0 {
		return nil
	}
	now := s.nowMillis()
	var due []Job
	var records []RunRecord
	next := int64(math.MaxInt64)
	info, err := s.options.Store.updateJobs(func(f *jobFile) (changed bool, err error) {
		for i := range f.Jobs {
			j := &f.Jobs[i]
			before := *j
			if r, ok := results[j.ID]; ok {
				j.State.LastStatus, j.State.LastError = r.Status, r.Error
			}
			if runCtx != nil {
				run, record := j.advanceIfDue(now, active[j.ID])
				if run {
					due = append(due, *j)
				}
				if record != nil {
					records = append(records, *record)
				}
			}
			if j.Enabled && j.State.NextRunAtMs > 0 {
				next = min(next, j.State.NextRunAtMs)
			}
			changed = changed || j.Enabled != before.Enabled || !j.State.equalTo(before.State)
		}
		jobs := len(f.Jobs)
		f.Jobs = slices.DeleteFunc(f.Jobs, func(j Job) bool { return j.isFinished() && j.State.LastStatus.isFinal() })
		return changed || len(f.Jobs) != jobs, nil
	})
	if err != nil {
		s.mu.Lock()
		for id, r := range results {
			if _, newer := s.unsaved[id]; !newer {
				s.unsaved[id] = r
			}
		}
		s.mu.Unlock()
		return err
	}
	if next == math.MaxInt64 {
		next = 0
	}
	s.fileInfo, s.loaded, s.nextDue = info, true, next
	for _, r := range records {
		s.logRecord(r)
	}
	for _, j := range due {
		s.startRun(runCtx, j)
	}
	return nil
}

// advanceIfDue reports whether a job must run now. It returns a log record if a run was interrupted or is skipped. active
// is the job's running run; nil if there is none.
func (j *Job) advanceIfDue(now int64, active *activeRun) (run bool, record *RunRecord) {
	newRecord := func(status RunStatus, why string) *RunRecord {
		return &RunRecord{Time: time.UnixMilli(now), Job: j.ID, Name: j.Name, Status: status, Error: why}
	}
	if j.State.LastStatus == Running && active == nil {
		record = newRecord(Failed, "picoclaw ended while it ran")
		j.State.LastStatus, j.State.LastError = record.Status, record.Error
	}
	if !j.Enabled {
		return false, record
	}
	failJob := func(err error) (bool, *RunRecord) {
		j.State.NextRunAtMs, j.State.LastStatus, j.State.LastError = 0, Failed, err.Error()
		return false, record
	}
	if err := j.ensureNextRun(now); err != nil {
		return failJob(err)
	}
	due := j.State.NextRunAtMs
	if due > now {
		return false, record
	}
	if err := j.advanceNextRun(now); err != nil {
		return failJob(err)
	}
	switch {
	case active != nil:
		if active.skippedNext {
			return false, record
		}
		active.skippedNext = true
		return false, newRecord(Skipped, "the previous run has not ended; further skipped runs are not logged")
	case now-due > missedAfter && !j.RunsIfMissed():
		record = newRecord(Skipped, "it was due at "+time.UnixMilli(due).Format(time.DateTime)+", and picoclaw did not run")
		j.State.LastStatus, j.State.LastError = record.Status, record.Error
		return false, record
	}
	j.State.LastRunAtMs, j.State.LastStatus, j.State.LastError = now, Running, ""
	return true, record
}

// startHeartbeatIfDue starts a heartbeat if it is due and HEARTBEAT.md has tasks.
func (s *Scheduler) startHeartbeatIfDue(runCtx context.Context) {
	interval := s.currentSettings().Heartbeat
	s.heartbeat.Enabled, s.heartbeat.Schedule.EveryMs = interval > 0, interval.Milliseconds()
	if !s.heartbeat.Enabled {
		s.heartbeat.State.NextRunAtMs = 0
		return
	}
	s.mu.Lock()
	active := s.running[HeartbeatID]
	s.mu.Unlock()
	run, record := s.heartbeat.advanceIfDue(s.nowMillis(), active)
	if record != nil {
		s.logRecord(*record)
	}
	if !run {
		return
	}
	s.heartbeat.State.LastStatus = ""
	prompt, err := s.options.Store.heartbeatPrompt(s.options.Now())
	if err != nil {
		s.logRecord(RunRecord{Time: s.options.Now(), Job: HeartbeatID, Name: HeartbeatID, Status: Failed, Error: err.Error()})
		return
	}
	if prompt != "" {
		beat := s.heartbeat
		beat.Payload.Message = prompt
		s.startRun(runCtx, beat)
	}
}

// startRun runs a job in a goroutine as soon as a slot is free.
func (s *Scheduler) startRun(runCtx context.Context, j Job) {
	settings := s.currentSettings()
	s.mu.Lock()
	s.running[j.ID] = &activeRun{}
	s.mu.Unlock()
	s.runs.Go(func() {
		r := RunRecord{Time: s.options.Now(), Job: j.ID, Name: j.Name}
		select {
		case s.slots <- struct{}{}:
			r.Time = s.options.Now()
			r.Status, r.Text, r.Error = s.runJob(runCtx, j, settings)
			<-s.slots
		case <-runCtx.Done():
			r.Status, r.Error = Skipped, "the run had not started: "+context.Cause(runCtx).Error()
		}
		r.Millis = s.options.Now().Sub(r.Time).Milliseconds()
		s.logRecord(r)
		if s.options.Deliver != nil && (j.ID != HeartbeatID || r.Status != OK || !isHeartbeatOK(r.Text)) {
			s.options.Deliver(r)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, j.ID)
		if j.ID != HeartbeatID {
			s.unsaved[j.ID] = r
		}
	})
}

// runJob runs a job with its timeout, and returns the result.
func (s *Scheduler) runJob(runCtx context.Context, j Job, settings SchedulerSettings) (status RunStatus, text, failure string) {
	if j.Payload.Command != "" && !settings.AllowCommand {
		return Failed, "", "jobs may not run commands: tools.cron.allow_command is false"
	}
	if j.Payload.Message == "" && j.Payload.Command == "" {
		return Failed, "", errNoPayload.Error()
	}
	limit := settings.Timeout
	if j.TimeoutMs != nil {
		limit = time.Duration(*j.TimeoutMs) * time.Millisecond
	}
	ctx, timedOut := runCtx, func() bool { return false }
	if limit > 0 {
		deadline := time.Now().Add(limit)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(runCtx, deadline)
		defer cancel()
		// Run may notice the deadline before the context does.
		timedOut = func() bool { return !time.Now().Before(deadline) }
	}
	text, err := s.options.Run(ctx, j)
	switch {
	case err == nil:
		return OK, text, ""
	case runCtx.Err() != nil:
		return Failed, text, fmt.Sprintf("%v: %v", context.Cause(runCtx), err)
	case timedOut():
		return Timeout, text, fmt.Sprintf("it did not end within %s (tools.cron.exec_timeout_minutes, or the job's own)", limit)
	}
	return Failed, text, err.Error()
}

func (s *Scheduler) logRecord(r RunRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.options.Store.appendRecord(r); err != nil {
		s.options.Logger.Error("a run of a job can't be logged", "job", r.Job, "status", r.Status, "error", err)
	}
}

// RunRecord is the log entry of a job's run.
type RunRecord struct {
	Time   time.Time `json:"time"` // start, or time of the decision to skip
	Job    string    `json:"job"`  // job id; "heartbeat" for a heartbeat
	Name   string    `json:"name"`
	Millis int64     `json:"ms"`
	Status RunStatus `json:"status"`
	Text   string    `json:"text,omitzero"`  // output, shortened
	Error  string    `json:"error,omitzero"` // reason of a failed or skipped run
}

const (
	maxLog  = 2 << 20  // size at which the log is rotated
	maxText = 16 << 10 // bytes of a text that are logged
	maxLine = 1 << 20  // bytes of a line, more than two texts need
)

// logPaths returns the paths of the rotated and the current log.
func (s *Store) logPaths() (rotated, current string) {
	return filepath.Join(s.dir, "runs.1.jsonl"), filepath.Join(s.dir, "runs.jsonl")
}

// appendRecord appends a record without secrets to the log. Only one process at a time may call it.
func (s *Store) appendRecord(r RunRecord) error {
	r.Time = r.Time.UTC()
	r.Text, r.Error = redactLogText(r.Text), redactLogText(r.Error)
	line, err := jsonv2.Marshal(r, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	if err = os.MkdirAll(s.dir, 0o700); err != nil {
		return err
	}
	rotated, current := s.logPaths()
	if info, statErr := os.Stat(current); statErr == nil && info.Size() > maxLog {
		if err = os.Rename(current, rotated); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(current, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(line, '\n'))
	return errors.Join(err, f.Close(), statefiles.AddToList(s.home, current))
}

// redactLogText removes secrets from text and shortens it for the log.
func redactLogText(text string) string {
	text = redact.RedactText(text)
	if len(text) <= maxText {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:maxText], ""), len(text))
}

// RecentRuns returns up to limit records of the job with an id or name, or of all jobs if job is empty, oldest first.
// With an error it returns the readable records.
func (s *Store) RecentRuns(job string, limit int) ([]RunRecord, error) {
	rotated, current := s.logPaths()
	var runs []RunRecord
	broken := statefiles.CheckNotMissing(s.home, current)
	for _, path := range []string{rotated, current} {
		text, err := smallfile.Read(path, 64<<20)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(bytes.NewReader(text))
		lines.Buffer(nil, maxLine)
		for lines.Scan() {
			var r RunRecord
			if text := bytes.TrimSpace(lines.Bytes()); jsonv2.Unmarshal(text, &r) != nil {
				broken = fmt.Errorf("%s has unreadable lines, for example after a power failure; restore a copy, or remove them", path)
			} else if job == "" || r.Job == job || r.Name == job {
				runs = append(runs, r)
			}
		}
		if err := lines.Err(); err != nil {
			return nil, fmt.Errorf("read %s: %w", path, err)
		}
	}
	return runs[max(len(runs)-limit, 0):], broken
}
