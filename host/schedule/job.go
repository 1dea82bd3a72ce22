package schedule

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/internal/atomicfile"
	"github.com/picoclaw/picoclaw/internal/smallfile"
)

// RunStatus is the result of a job's run. Running means that the job's run has not ended.
type RunStatus string

// Running is the status of a job, not the result of a run.
const (
	OK      RunStatus = "ok"
	Failed  RunStatus = "error"
	Timeout RunStatus = "timeout"
	Skipped RunStatus = "skipped"
	Running RunStatus = "running"
)

// isFinal reports whether the run has ended.
func (s RunStatus) isFinal() bool { return s != "" && s != Running }

// Values of Job.Missed, for runs that were missed while picoclaw did not run.
const (
	RunOnce    = "once" // one run replaces all missed ones
	SkipMissed = "skip" // no run replaces them
)

// Values of Payload.Kind.
const (
	AgentTurn     = "agent_turn" // a message to the agent, or a command
	HeartbeatTurn = "heartbeat"  // a heartbeat's prompt; never stored
)

// Job is a message or command with a schedule. It keeps unknown keys, which another version wrote.
type Job struct {
	ID             string     `json:"id"`
	Name           string     `json:"name"`
	Enabled        bool       `json:"enabled"`
	Schedule       Schedule   `json:"schedule"`
	Payload        JobPayload `json:"payload"`
	State          JobState   `json:"state"`
	CreatedAtMs    int64      `json:"createdAtMs"`
	UpdatedAtMs    int64      `json:"updatedAtMs"`
	DeleteAfterRun bool       `json:"deleteAfterRun"` // only for jobs that run once

	// Scope restricts the job like the session that added it.
	Scope     policy.Restriction `json:"within,omitzero"`
	Missed    string             `json:"missed,omitzero"`    // once or skip; if empty, the schedule decides
	TimeoutMs *int64             `json:"timeoutMs,omitzero"` // timeout of a run; 0 for none, nil for the configured one
	Unknown   jsontext.Value     `json:",embed"`
}

// JobPayload is the work of a job: a command, or a message that starts a turn of the agent.
type JobPayload struct {
	Kind    string         `json:"kind"`
	Message string         `json:"message"`
	Command string         `json:"command,omitzero"`
	Channel string         `json:"channel,omitzero"`
	To      string         `json:"to,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

// JobState is the progress of a job. Times are Unix milliseconds; 0 means none.
type JobState struct {
	NextRunAtMs int64          `json:"nextRunAtMs,omitzero"`
	LastRunAtMs int64          `json:"lastRunAtMs,omitzero"`
	LastStatus  RunStatus      `json:"lastStatus,omitzero"`
	LastError   string         `json:"lastError,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

// equalTo reports whether two states are equal. It ignores unknown keys.
func (s JobState) equalTo(other JobState) bool {
	s.Unknown, other.Unknown = nil, nil // this program never changes unknown keys
	return reflect.DeepEqual(s, other)
}

const (
	maxName     = 200       // bytes
	maxPayload  = 64 << 10  // bytes
	missedAfter = 60 * 1000 // a run this many milliseconds late counts as missed
	// maxClockError is the largest plausible lead of a job's last run over the clock, in milliseconds. A larger one
	// means that the clock was wrong at the time, and the job is scheduled anew. A smaller one delays the next run,
	// so nothing runs twice.
	maxClockError = 24 * 60 * 60 * 1000
)

var errNoPayload = errors.New("the job has nothing to run: give it a message or a command")

// Validate returns an error if the job is invalid.
func (j *Job) Validate() error {
	switch {
	case len(j.Name) > maxName:
		return fmt.Errorf("the job's name has %d bytes; want at most %d", len(j.Name), maxName)
	case len(j.Payload.Message)+len(j.Payload.Command) > maxPayload:
		return fmt.Errorf("the job's message and command have more than %d bytes", maxPayload)
	case j.Payload.Message == "" && j.Payload.Command == "":
		return errNoPayload
	case j.Missed != "" && j.Missed != RunOnce && j.Missed != SkipMissed:
		return fmt.Errorf("missed is %q; want once or skip", j.Missed)
	case j.TimeoutMs != nil && (*j.TimeoutMs < 0 || *j.TimeoutMs > maxTime):
		return fmt.Errorf("the timeout is %d ms; want 0 for none, or more", *j.TimeoutMs)
	}
	return j.Schedule.Validate()
}

// validateAndReschedule validates a changed job and computes its next run.
func (j *Job) validateAndReschedule(now time.Time) error {
	if err := j.Validate(); err != nil {
		return err
	}
	j.UpdatedAtMs = now.UnixMilli()
	return j.scheduleNext(now)
}

// scheduleNext computes the next run as if the job had just been added.
func (j *Job) scheduleNext(now time.Time) error {
	j.State.NextRunAtMs = 0
	if !j.Enabled {
		return nil
	}
	next, err := j.Schedule.NextAfter(now)
	switch {
	case err != nil:
		return err
	case next.IsZero():
		return fmt.Errorf("the time of job %s is in the past: %s", j.ID, time.UnixMilli(j.Schedule.AtMs).Format(time.DateTime))
	}
	j.State.NextRunAtMs = next.UnixMilli()
	return nil
}

// ensureNextRun computes the next run if it is unknown, or was computed with a wrong clock.
func (j *Job) ensureNextRun(now int64) error {
	s := &j.State
	if s.LastRunAtMs > now+maxClockError {
		s.NextRunAtMs, s.LastRunAtMs = 0, 0
	}
	known := s.NextRunAtMs > 0
	switch j.Schedule.Kind {
	case At:
		s.NextRunAtMs = j.Schedule.AtMs
		return j.Schedule.Validate()
	case Every:
		known = known && s.NextRunAtMs-j.Schedule.EveryMs <= now
	}
	if known {
		return nil
	}
	return j.scheduleNext(time.UnixMilli(now))
}

// advanceNextRun computes the run after the one that is due. It skips missed runs. Intervals keep their phase.
func (j *Job) advanceNextRun(now int64) error {
	due := j.State.NextRunAtMs
	switch j.Schedule.Kind {
	case At:
		j.Enabled, j.State.NextRunAtMs = false, 0
		return nil
	case Every:
		if next := due + j.Schedule.EveryMs; next > now {
			j.State.NextRunAtMs = next
			return nil
		}
	}
	return j.scheduleNext(time.UnixMilli(now))
}

// RunsIfMissed reports whether a missed run happens later. By default only one-off and interval jobs run later.
func (j *Job) RunsIfMissed() bool {
	if j.Missed == "" {
		return j.Schedule.Kind != Cron
	}
	return j.Missed == RunOnce
}

// isFinished reports whether a one-off job has run and can be deleted.
func (j *Job) isFinished() bool { return j.Schedule.Kind == At && j.DeleteAfterRun && !j.Enabled }

// HeartbeatID is the job id of heartbeats in run records.
const HeartbeatID = "heartbeat"

// HeartbeatOK is the answer of an agent that has nothing to report.
const HeartbeatOK = "HEARTBEAT_OK"

const (
	firstHeartbeat   = time.Second // delay after the scheduler starts
	maxHeartbeatFile = 64 << 10    // bytes of HEARTBEAT.md
	taskMarker       = "Add your heartbeat tasks below this line:"
)

const heartbeatTemplate = `# Heartbeat

At each heartbeat the agent is asked to look after the tasks in this file. A line is a task; one that begins with # and
an empty one are none. Without a task no model is asked.

` + taskMarker + `
`

// HeartbeatInterval converts the configured minutes: 0 or less means 30. The minimum is 5.
func HeartbeatInterval(minutes int64) time.Duration {
	switch {
	case minutes <= 0:
		minutes = 30
	case minutes < 5:
		minutes = 5
	}
	return time.Duration(minutes) * time.Minute
}

// HeartbeatPath returns the path of the file with an agent's heartbeat tasks.
func (s *Store) HeartbeatPath() string { return filepath.Join(s.dir, "HEARTBEAT.md") }

// heartbeatPrompt returns the prompt of a heartbeat; empty if HEARTBEAT.md has no tasks. It creates a missing file.
func (s *Store) heartbeatPrompt(now time.Time) (string, error) {
	text, err := smallfile.Read(s.HeartbeatPath(), maxHeartbeatFile)
	if errors.Is(err, fs.ErrNotExist) {
		if err = os.MkdirAll(s.dir, 0o700); err == nil {
			err = atomicfile.WriteFile(s.HeartbeatPath(), []byte(heartbeatTemplate), 0o600)
		}
		return "", err
	}
	if errors.Is(err, smallfile.ErrLarger) {
		return "", fmt.Errorf("%s: %w: shorten it", s.HeartbeatPath(), err)
	}
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.HeartbeatPath(), err)
	}
	if !hasTasks(string(text)) {
		return "", nil
	}
	return fmt.Sprintf("# Heartbeat Check\n\nCurrent time: %s\n\n"+
		"This is a scheduled check. Look after the tasks in the file below, with your tools where they help.\n"+
		"If there is nothing that needs attention, respond ONLY with: %s\n\n%s",
		now.Format("2006-01-02 15:04:05 MST"), HeartbeatOK, text), nil
}

// hasTasks reports whether there is a task below the marker line. Without a marker, any line is a task.
func hasTasks(text string) bool {
	if _, below, found := strings.Cut(text, taskMarker); found {
		text = below
	}
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return true
		}
	}
	return false
}

// isHeartbeatOK reports whether an answer is HEARTBEAT_OK, ignoring markup and punctuation.
func isHeartbeatOK(answer string) bool { return strings.Trim(answer, " \t\r\n.!*`\"'") == HeartbeatOK }
