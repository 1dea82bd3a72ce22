package schedule

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
)

// Options configures a scheduler.
type Options struct {
	Store *Store
	// Run runs a job and returns its output. It must end soon after ctx is done; it occupies a slot until then.
	Run func(ctx context.Context, job Job) (text string, err error)
	// Deliver, if not nil, receives the results of runs, except heartbeats without output.
	Deliver func(RunRecord)
	// Paused, if not nil, reports whether no run may start. Jobs due in that time are missed.
	Paused   func() bool
	Settings SchedulerSettings
	// Parallel limits concurrent runs; 0 means 8.
	Parallel int
	// Grace is the time that runs get to end after the scheduler was stopped.
	Grace time.Duration
	// Now returns the wall-clock time; nil for time.Now.
	Now    func() time.Time
	Logger hclog.Logger // nil for none
}

// SchedulerSettings are the settings that can change while a scheduler runs.
type SchedulerSettings struct {
	Timeout      time.Duration // default timeout of jobs, and timeout of heartbeats; 0 for none
	AllowCommand bool          // jobs may run commands
	NoJobs       bool          // run only heartbeats; jobs due in that time are missed
	Heartbeat    time.Duration // interval; 0 for no heartbeats
}

// pollInterval is the maximum delay until the scheduler notices a changed file or clock.
const pollInterval = time.Second

// errStopped is the cancellation cause of runs that continue after the grace period.
var errStopped = errors.New("picoclaw was stopped")

// Scheduler runs the due jobs of one store. A store may have only one scheduler at a time.
type Scheduler struct {
	options Options
	slots   chan struct{} // taken by runs in progress
	runs    sync.WaitGroup

	mu       sync.Mutex
	settings SchedulerSettings
	running  map[string]*activeRun
	unsaved  map[string]RunRecord // results not yet written to jobs.json
	err      error                // the last error, nil since jobs.json could be updated again

	// used by the loop only:
	heartbeat Job         // the heartbeat
	fileInfo  fs.FileInfo // of the last version read; nil if there was no file
	loaded    bool        // jobs.json has been read
	nextDue   int64       // time of the first due job in Unix milliseconds; 0 for none
	lastCheck int64       // time of the last check in Unix milliseconds
}

// activeRun is a run that has not ended. skippedNext means that a later run was skipped because of it.
type activeRun struct{ skippedNext bool }

// NewScheduler returns a scheduler, which starts with Run.
func NewScheduler(o Options) *Scheduler {
	if o.Now == nil {
		o.Now = time.Now
	}
	o.Logger = cmp.Or(o.Logger, hclog.NewNullLogger())
	if o.Parallel <= 0 {
		o.Parallel = 8
	}
	return &Scheduler{options: o, slots: make(chan struct{}, o.Parallel), settings: o.Settings,
		running: map[string]*activeRun{}, unsaved: map[string]RunRecord{}}
}

// UpdateSettings changes the settings for future runs.
func (s *Scheduler) UpdateSettings(settings SchedulerSettings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settings = settings
}

// currentSettings returns the settings for new runs.
func (s *Scheduler) currentSettings() SchedulerSettings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings
}

// Run runs due jobs until ctx is done, and returns when the last run has ended. Call it only once.
func (s *Scheduler) Run(ctx context.Context) {
	runCtx, cancelRuns := context.WithCancelCause(context.WithoutCancel(ctx))
	defer cancelRuns(nil)
	s.heartbeat = Job{ID: HeartbeatID, Name: HeartbeatID, Schedule: Schedule{Kind: Every}, Payload: JobPayload{Kind: HeartbeatTurn},
		State: JobState{NextRunAtMs: s.options.Now().Add(firstHeartbeat).UnixMilli()}}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		select {
		case <-timer.C:
			timer.Reset(s.startDueRuns(runCtx))
		case <-ctx.Done():
		}
	}
	grace := time.AfterFunc(s.options.Grace, func() { cancelRuns(errStopped) })
	s.runs.Wait()
	grace.Stop()
	s.setError(s.saveAndStartRuns(nil))
}

// nowMillis returns the wall-clock time in milliseconds, which follows the system clock.
func (s *Scheduler) nowMillis() int64 { return s.options.Now().UnixMilli() }

// startDueRuns starts the due runs, and returns the time until the next check.
func (s *Scheduler) startDueRuns(runCtx context.Context) time.Duration {
	if s.options.Paused != nil && s.options.Paused() {
		return pollInterval
	}
	s.startHeartbeatIfDue(runCtx)
	now := s.nowMillis()
	clockSetBack := now < s.lastCheck
	s.lastCheck = now
	if s.currentSettings().NoJobs {
		return pollInterval
	}
	if clockSetBack || s.needsUpdate() || s.nextDue > 0 && s.nextDue <= now {
		err := s.saveAndStartRuns(runCtx)
		s.setError(err)
		if err != nil {
			return pollInterval
		}
	}
	wait := pollInterval
	for _, next := range []int64{s.nextDue, s.heartbeat.State.NextRunAtMs} {
		if until := time.Duration(next-s.nowMillis()) * time.Millisecond; next > 0 && until < wait {
			wait = max(until, 0)
		}
	}
	return wait
}

// needsUpdate reports whether jobs.json has changed, lacks results, or could not be written.
func (s *Scheduler) needsUpdate() bool {
	s.mu.Lock()
	pending := len(s.unsaved) > 0 || s.err != nil
	s.mu.Unlock()
	if pending || !s.loaded {
		return true
	}
	info, err := os.Stat(s.options.Store.jobsPath())
	if err != nil || s.fileInfo == nil {
		return !errors.Is(err, fs.ErrNotExist) || s.fileInfo != nil
	}
	return !os.SameFile(info, s.fileInfo) || !info.ModTime().Equal(s.fileInfo.ModTime()) || info.Size() != s.fileInfo.Size()
}

// Err returns the reason why no jobs run; nil if they run.
func (s *Scheduler) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// setError stores the error that Err returns. It logs the error if it is new.
func (s *Scheduler) setError(err error) {
	last := s.Err()
	if err != nil && (last == nil || last.Error() != err.Error()) {
		s.options.Logger.Error("the schedule can't be updated", "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err = err
}
