// Package schedule stores an agent's jobs and its heartbeat, runs them when they are due, and logs the results.
//
// A [Store] is one agent's directory below the home, where none of its tools can write: jobs in jobs.json, one line
// per run in runs.jsonl, and HEARTBEAT.md. A [Scheduler] runs due jobs concurrently, by a function that the caller
// supplies.
//
// The scheduler stores each run before it starts, so no run happens twice, even after a crash. A run that was missed,
// because picoclaw did not run or the clock jumped, happens once later or is skipped, as the job says.
//
// The package must not know how a job runs, who may add jobs, or where results are delivered.
package schedule

import (
	"fmt"
	"strings"
	"time"

	"github.com/adhocore/gronx"
	"github.com/go-json-experiment/json/jsontext"
)

// The kinds of schedules.
const (
	At    = "at"    // once
	Every = "every" // at an interval
	Cron  = "cron"  // whenever a cron expression matches
)

// Schedule defines when a job runs.
type Schedule struct {
	Kind    string         `json:"kind"`
	AtMs    int64          `json:"atMs,omitzero"` // Unix time in milliseconds
	EveryMs int64          `json:"everyMs,omitzero"`
	Expr    string         `json:"expr,omitzero"`
	TZ      string         `json:"tz,omitzero"` // time zone of Expr, as Europe/Berlin; the machine's if empty
	Unknown jsontext.Value `json:",embed"`
}

const (
	minEvery = time.Second
	maxExpr  = 256 // bytes of a cron expression
	// maxTime is the latest time in a schedule, in Unix milliseconds: the end of the year 9999.
	maxTime = 253402300799000
)

// Validate returns an error if the schedule is invalid.
func (s *Schedule) Validate() error {
	switch s.Kind {
	case At:
		if s.AtMs <= 0 || s.AtMs > maxTime {
			return fmt.Errorf("the time %d is no Unix time in milliseconds", s.AtMs)
		}
	case Every:
		if s.EveryMs < minEvery.Milliseconds() || s.EveryMs > maxTime {
			return fmt.Errorf("the interval is %d ms; want %d at least", s.EveryMs, minEvery.Milliseconds())
		}
	case Cron:
		_, err := s.parseCron()
		return err
	default:
		return fmt.Errorf("the kind of schedule is %q; want at, every or cron", s.Kind)
	}
	return nil
}

// String describes the schedule, such as "every 1h0m0s".
func (s *Schedule) String() string {
	switch s.Kind {
	case At:
		return "at " + time.UnixMilli(s.AtMs).Format(time.DateTime)
	case Every:
		return "every " + (time.Duration(s.EveryMs) * time.Millisecond).String()
	}
	return strings.TrimSpace("cron " + s.Expr + " " + s.TZ)
}

// NextAfter returns the first due time after a time; zero if there is no more.
func (s *Schedule) NextAfter(after time.Time) (time.Time, error) {
	if s.Kind == Cron {
		c, err := s.parseCron()
		if err != nil {
			return time.Time{}, err
		}
		return c.nextMatch(after)
	}
	if err := s.Validate(); err != nil {
		return time.Time{}, err
	}
	if s.Kind == Every {
		return after.Add(time.Duration(s.EveryMs) * time.Millisecond), nil
	}
	if at := time.UnixMilli(s.AtMs); at.After(after) {
		return at, nil
	}
	return time.Time{}, nil
}

// cronExpr is a cron expression with its time zone.
type cronExpr struct {
	expr       string
	zone       *time.Location
	fixedHours bool // the hour field has no asterisk
}

// parseCron parses the cron expression and its time zone.
func (s *Schedule) parseCron() (*cronExpr, error) {
	if len(s.Expr) > maxExpr {
		return nil, fmt.Errorf("the cron expression has %d bytes; want at most %d", len(s.Expr), maxExpr)
	}
	fields, err := gronx.Segments(s.Expr)
	if err != nil || !gronx.IsValid(s.Expr) {
		return nil, fmt.Errorf("the cron expression %q is wrong; want minute, hour, day of the month, month and day of the week, such as 30 9 * * 1-5",
			s.Expr)
	}
	zone := time.Local
	if s.TZ != "" {
		if zone, err = time.LoadLocation(s.TZ); err != nil {
			return nil, fmt.Errorf("the time zone %q is not known here; want a name such as Europe/Berlin", s.TZ)
		}
	}
	return &cronExpr{s.Expr, zone, !strings.Contains(fields[2], "*")}, nil
}

// nextMatch returns the next match in local time. With fixed hours, a time that occurs twice counts once, and a time
// that the clock change skips counts at the change; otherwise elapsed time counts.
func (c *cronExpr) nextMatch(after time.Time) (time.Time, error) {
	t, including := after.In(c.zone), false
	for {
		start, end := t.ZoneBounds()
		offset := zoneOffset(t)
		wall := t.UTC().Add(offset)
		if before := zoneOffset(start.Add(-1)); c.fixedHours && !start.IsZero() && before > offset {
			// Local times before the clocks went back have already had their turn.
			if repeatEnd := start.UTC().Add(before); wall.Before(repeatEnd) {
				wall, including = repeatEnd, true
			}
		}
		match, err := gronx.NextTickAfter(c.expr, wall, including)
		if err != nil {
			return time.Time{}, fmt.Errorf("the cron expression %q matches no time", c.expr)
		}
		at := match.Add(-offset).In(c.zone)
		if end.IsZero() || at.Before(end) {
			return at, nil
		}
		if c.fixedHours && match.Before(end.UTC().Add(zoneOffset(end))) {
			return end, nil
		}
		t, including = end, true
	}
}

// zoneOffset returns the UTC offset of a time in its time zone.
func zoneOffset(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}
