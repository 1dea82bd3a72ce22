package schedule

import (
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// Status is how a run ended.
type Status string

// The statuses. Running is that of a job, and not of a run that has ended.
const (
	OK      Status = "ok"
	Failed  Status = "error"
	Timeout Status = "timeout"
	Skipped Status = "skipped"
	Running Status = "running"
)

// final reports whether it is that of a run that has ended.
func (s Status) final() bool { return s != "" && s != Running }

// What to do about a run that was due while nobody was there to make it.
const (
	Once = "once" // one run makes up for all that were missed
	Skip = "skip" // none
)

// The kinds of payloads.
const (
	Turn = "agent_turn" // a message for the agent, or a command
	Beat = "heartbeat"  // the prompt of a heartbeat; no job in a store has it
)

// Job is something to run, and when. What another version has written into its file besides is kept.
type Job struct {
	ID             string   `json:"id"`
	Name           string   `json:"name"`
	Enabled        bool     `json:"enabled"`
	Schedule       Schedule `json:"schedule"`
	Payload        Payload  `json:"payload"`
	State          State    `json:"state"`
	CreatedAtMs    int64    `json:"createdAtMs"`
	UpdatedAtMs    int64    `json:"updatedAtMs"`
	DeleteAfterRun bool     `json:"deleteAfterRun"` // of a job that runs once

	// Within confines the job as the session was that added it; nil for one that had the whole of the agent's policy.
	Within    *Within        `json:"within,omitzero"`
	Missed    string         `json:"missed,omitzero"`    // once or skip; empty for what its schedule makes one expect
	TimeoutMs *int64         `json:"timeoutMs,omitzero"` // of a run; 0 for none, nil for that of the settings
	Unknown   jsontext.Value `json:",embed"`
}

// Payload is what to run: a command if there is one, else a turn of the agent with a message.
type Payload struct {
	Kind    string         `json:"kind"`
	Message string         `json:"message"`
	Command string         `json:"command,omitzero"`
	Channel string         `json:"channel,omitzero"`
	To      string         `json:"to,omitzero"`
	Unknown jsontext.Value `json:",embed"`
}

// Within is a part of what an agent may use. A run is narrowed to it.
type Within struct {
	Workspace string   `json:"workspace,omitzero"`
	Paths     []string `json:"paths,omitzero"`
}

// State is where a job stands. Times are Unix times in milliseconds, 0 for none.
type State struct {
	NextRunAtMs int64          `json:"nextRunAtMs,omitzero"`
	LastRunAtMs int64          `json:"lastRunAtMs,omitzero"`
	LastStatus  Status         `json:"lastStatus,omitzero"`
	LastError   string         `json:"lastError,omitzero"`
	Unknown     jsontext.Value `json:",embed"`
}

func (s State) equal(other State) bool {
	s.Unknown, other.Unknown = nil, nil // what is unknown is not changed here
	return reflect.DeepEqual(s, other)
}

const (
	maxName    = 200       // bytes
	maxPayload = 64 << 10  // bytes
	late       = 60 * 1000 // milliseconds after which a run counts as missed
	// setBack is by how many milliseconds a job's last run is in the future for its next not to be waited for: the clock
	// was wrong then. Below, nothing runs twice.
	setBack = 24 * 60 * 60 * 1000
)

var errNothing = errors.New("the job has nothing to run: give it a message or a command")

// Check says what is wrong with a job.
func (j *Job) Check() error {
	switch {
	case len(j.Name) > maxName:
		return fmt.Errorf("the job's name has %d bytes; want at most %d", len(j.Name), maxName)
	case len(j.Payload.Message)+len(j.Payload.Command) > maxPayload:
		return fmt.Errorf("the job's message and command have more than %d bytes", maxPayload)
	case j.Payload.Message == "" && j.Payload.Command == "":
		return errNothing
	case j.Missed != "" && j.Missed != Once && j.Missed != Skip:
		return fmt.Errorf("missed is %q; want once or skip", j.Missed)
	case j.TimeoutMs != nil && (*j.TimeoutMs < 0 || *j.TimeoutMs > maxTime):
		return fmt.Errorf("the timeout is %d ms; want 0 for none, or more", *j.TimeoutMs)
	}
	return j.Schedule.Check()
}

// renew checks a job that was changed, and sets when it runs next.
func (j *Job) renew(now time.Time) error {
	if err := j.Check(); err != nil {
		return err
	}
	j.UpdatedAtMs = now.UnixMilli()
	return j.plan(now)
}

// plan sets when the job runs next, as if it had just been added.
func (j *Job) plan(now time.Time) error {
	j.State.NextRunAtMs = 0
	if !j.Enabled {
		return nil
	}
	next, err := j.Schedule.Next(now)
	switch {
	case err != nil:
		return err
	case next.IsZero():
		return fmt.Errorf("the time of job %s is over, %s", j.ID, time.UnixMilli(j.Schedule.AtMs).Format(time.DateTime))
	}
	j.State.NextRunAtMs = next.UnixMilli()
	return nil
}

// settle sets when the job is due where that is not known, or stems from a clock that was wrong.
func (j *Job) settle(now int64) error {
	s := &j.State
	if s.LastRunAtMs > now+setBack {
		s.NextRunAtMs, s.LastRunAtMs = 0, 0
	}
	known := s.NextRunAtMs > 0
	switch j.Schedule.Kind {
	case At:
		s.NextRunAtMs = j.Schedule.AtMs
		return j.Schedule.Check()
	case Every:
		known = known && s.NextRunAtMs-j.Schedule.EveryMs <= now
	}
	if known {
		return nil
	}
	return j.plan(time.UnixMilli(now))
}

// advance sets when the job runs after the run that is due: once however many were missed, and an interval keeps its
// phase if it can.
func (j *Job) advance(now int64) error {
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
	return j.plan(time.UnixMilli(now))
}

// MakesUp reports whether a run that was missed is made later. What has to be done once, or every so often, is;
// a time of the day is over.
func (j *Job) MakesUp() bool {
	if j.Missed == "" {
		return j.Schedule.Kind != Cron
	}
	return j.Missed == Once
}

// over reports whether the job has done what it is for, and goes.
func (j *Job) over() bool { return j.Schedule.Kind == At && j.DeleteAfterRun && !j.Enabled }
