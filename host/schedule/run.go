package schedule

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

// write brings the file to where things stand: how runs have ended, and which begin now. Those are in the file before
// they begin. Without work none begins.
func (s *Scheduler) write(work context.Context) error {
	s.mu.Lock()
	ended, goesOn := s.ended, maps.Clone(s.running) // of one instant: a run is in one of them
	s.ended = map[string]Record{}
	s.mu.Unlock()
	if work == nil && len(ended) == 0 {
		return nil
	}
	now := s.now()
	var begin []Job
	var records []Record
	next := int64(math.MaxInt64)
	info, err := s.o.Store.change(func(f *file) (changed bool, err error) {
		for i := range f.Jobs {
			j := &f.Jobs[i]
			before := *j
			if r, ok := ended[j.ID]; ok {
				j.State.LastStatus, j.State.LastError = r.Status, r.Error
			}
			if work != nil {
				run, record := j.consider(now, goesOn[j.ID])
				if run {
					begin = append(begin, *j)
				}
				if record != nil {
					records = append(records, *record)
				}
			}
			if j.Enabled && j.State.NextRunAtMs > 0 {
				next = min(next, j.State.NextRunAtMs)
			}
			changed = changed || j.Enabled != before.Enabled || !j.State.equal(before.State)
		}
		jobs := len(f.Jobs)
		f.Jobs = slices.DeleteFunc(f.Jobs, func(j Job) bool { return j.over() && j.State.LastStatus.final() })
		return changed || len(f.Jobs) != jobs, nil
	})
	if err != nil {
		s.mu.Lock()
		for id, r := range ended {
			if _, newer := s.ended[id]; !newer {
				s.ended[id] = r
			}
		}
		s.mu.Unlock()
		return err
	}
	if next == math.MaxInt64 {
		next = 0
	}
	s.seen, s.known, s.next = info, true, next
	for _, r := range records {
		s.keep(r)
	}
	for _, j := range begin {
		s.start(work, j)
	}
	return nil
}

// consider decides whether a job runs now, and says what else there is to record of it. goesOn is a run of it that has
// not ended; nil if there is none.
func (j *Job) consider(now int64, goesOn *run) (run bool, left *Record) {
	leave := func(status Status, why string) *Record {
		return &Record{Time: time.UnixMilli(now), Job: j.ID, Name: j.Name, Status: status, Error: why}
	}
	if j.State.LastStatus == Running && goesOn == nil {
		left = leave(Failed, "picoclaw ended while it ran")
		j.State.LastStatus, j.State.LastError = left.Status, left.Error
	}
	if !j.Enabled {
		return false, left
	}
	wrong := func(err error) (bool, *Record) {
		j.State.NextRunAtMs, j.State.LastStatus, j.State.LastError = 0, Failed, err.Error()
		return false, left
	}
	if err := j.settle(now); err != nil {
		return wrong(err)
	}
	due := j.State.NextRunAtMs
	if due > now {
		return false, left
	}
	if err := j.advance(now); err != nil {
		return wrong(err)
	}
	switch {
	case goesOn != nil:
		if goesOn.overlapped {
			return false, left
		}
		goesOn.overlapped = true
		return false, leave(Skipped, "the run before has not ended; until then this is not said again")
	case now-due > late && !j.MakesUp():
		left = leave(Skipped, "it was due at "+time.UnixMilli(due).Format(time.DateTime)+", and picoclaw did not run")
		j.State.LastStatus, j.State.LastError = left.Status, left.Error
		return false, left
	}
	j.State.LastRunAtMs, j.State.LastStatus, j.State.LastError = now, Running, ""
	return true, left
}

// heartbeat starts a heartbeat if one is due and there is something to do.
func (s *Scheduler) heartbeat(work context.Context) {
	interval := s.set().Heartbeat
	s.beat.Enabled, s.beat.Schedule.EveryMs = interval > 0, interval.Milliseconds()
	if !s.beat.Enabled {
		s.beat.State.NextRunAtMs = 0
		return
	}
	s.mu.Lock()
	goesOn := s.running[HeartbeatID]
	s.mu.Unlock()
	run, left := s.beat.consider(s.now(), goesOn)
	if left != nil {
		s.keep(*left)
	}
	if !run {
		return
	}
	s.beat.State.LastStatus = ""
	prompt, err := s.o.Store.heartbeat(s.o.Now())
	if err != nil {
		s.keep(Record{Time: s.o.Now(), Job: HeartbeatID, Name: HeartbeatID, Status: Failed, Error: err.Error()})
		return
	}
	if prompt != "" {
		beat := s.beat
		beat.Payload.Message = prompt
		s.start(work, beat)
	}
}

// start runs a job as soon as there is a slot.
func (s *Scheduler) start(work context.Context, j Job) {
	settings := s.set()
	s.mu.Lock()
	s.running[j.ID] = &run{}
	s.mu.Unlock()
	s.runs.Go(func() {
		r := Record{Time: s.o.Now(), Job: j.ID, Name: j.Name}
		select {
		case s.slots <- struct{}{}:
			r.Time = s.o.Now()
			r.Status, r.Text, r.Error = s.carryOut(work, j, settings)
			<-s.slots
		case <-work.Done():
			r.Status, r.Error = Skipped, "its turn had not come: "+context.Cause(work).Error()
		}
		r.Millis = s.o.Now().Sub(r.Time).Milliseconds()
		s.keep(r)
		if s.o.Deliver != nil && (j.ID != HeartbeatID || r.Status != OK || !allWell(r.Text)) {
			s.o.Deliver(r)
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, j.ID)
		if j.ID != HeartbeatID {
			s.ended[j.ID] = r
		}
	})
}

// carryOut runs a job.
func (s *Scheduler) carryOut(work context.Context, j Job, settings Settings) (status Status, text, why string) {
	if j.Payload.Command != "" && !settings.AllowCommand {
		return Failed, "", "jobs may not run commands: tools.cron.allow_command is false"
	}
	if j.Payload.Message == "" && j.Payload.Command == "" {
		return Failed, "", errNothing.Error()
	}
	limit := settings.Timeout
	if j.TimeoutMs != nil {
		limit = time.Duration(*j.TimeoutMs) * time.Millisecond
	}
	ctx, late := work, func() bool { return false }
	if limit > 0 {
		deadline := time.Now().Add(limit)
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(work, deadline)
		defer cancel()
		// What runs may know of its deadline before the context does.
		late = func() bool { return !time.Now().Before(deadline) }
	}
	text, err := s.o.Run(ctx, j)
	switch {
	case err == nil:
		return OK, text, ""
	case work.Err() != nil:
		return Failed, text, fmt.Sprintf("%v: %v", context.Cause(work), err)
	case late():
		return Timeout, text, fmt.Sprintf("it did not end within %s (tools.cron.exec_timeout_minutes, or the job's own)", limit)
	}
	return Failed, text, err.Error()
}

// keep puts a record into the log.
func (s *Scheduler) keep(r Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.o.Store.record(r); err != nil {
		s.o.Logger.Error("a run of a job can't be recorded", "job", r.Job, "status", r.Status, "error", err)
	}
}
