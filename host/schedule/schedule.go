// Package schedule knows when an agent's jobs and its heartbeat are due, and keeps what became of them.
//
// A [Store] is one agent's directory below the instance root, where none of its tools can write: its jobs in jobs.json,
// a line for each run in runs.jsonl, and HEARTBEAT.md. A [Scheduler] runs what is due, each job by itself. What a run
// does is a function of its caller's.
//
// Each run is in the store before it begins, so that none is made twice, whatever happens meanwhile. A run that was due
// while nobody was there to make it, or while the clock jumped, is made up for once or left out, as the job says.
//
// The package must not know how a job is run, who may add one, nor who is told.
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
	Cron  = "cron"  // when the time matches an expression
)

// Schedule says when a job runs.
type Schedule struct {
	Kind    string         `json:"kind"`
	AtMs    int64          `json:"atMs,omitzero"` // Unix time in milliseconds
	EveryMs int64          `json:"everyMs,omitzero"`
	Expr    string         `json:"expr,omitzero"`
	TZ      string         `json:"tz,omitzero"` // the zone of Expr, such as Europe/Berlin; empty for that of this machine
	Unknown jsontext.Value `json:",embed"`
}

const (
	minEvery = time.Second
	maxExpr  = 256 // bytes of an expression
	// maxTime is the last instant that a schedule can name, in Unix milliseconds: the end of the year 9999.
	maxTime = 253402300799000
)

// Check says what is wrong with a schedule.
func (s *Schedule) Check() error {
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
		_, err := s.cron()
		return err
	default:
		return fmt.Errorf("the kind of schedule is %q; want at, every or cron", s.Kind)
	}
	return nil
}

// String says it in words, such as "every 1h0m0s".
func (s *Schedule) String() string {
	switch s.Kind {
	case At:
		return "at " + time.UnixMilli(s.AtMs).Format(time.DateTime)
	case Every:
		return "every " + (time.Duration(s.EveryMs) * time.Millisecond).String()
	}
	return strings.TrimSpace("cron " + s.Expr + " " + s.TZ)
}

// Next returns the first instant after another at which a job is due; zero if there is none.
func (s *Schedule) Next(after time.Time) (time.Time, error) {
	if s.Kind == Cron {
		c, err := s.cron()
		if err != nil {
			return time.Time{}, err
		}
		return c.next(after)
	}
	if err := s.Check(); err != nil {
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

// cron is an expression in its zone.
type cron struct {
	expr  string
	zone  *time.Location
	hours bool // it names hours, in place of an asterisk
}

func (s *Schedule) cron() (*cron, error) {
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
	return &cron{s.Expr, zone, !strings.Contains(fields[2], "*")}, nil
}

// next looks for the next match on the clock on the wall, in one period between two changes of the zone's offset after
// the other. An hour that is named and does not exist on a day, since the clocks go forward, is when they do; one that
// there is twice is the first. An asterisk goes on with time itself.
func (c *cron) next(after time.Time) (time.Time, error) {
	t, including := after.In(c.zone), false
	for {
		start, end := t.ZoneBounds()
		offset := offsetOf(t)
		wall := t.UTC().Add(offset)
		if before := offsetOf(start.Add(-1)); c.hours && !start.IsZero() && before > offset {
			// What the wall has shown before the clocks went back is over.
			if shown := start.UTC().Add(before); wall.Before(shown) {
				wall, including = shown, true
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
		if c.hours && match.Before(end.UTC().Add(offsetOf(end))) {
			return end, nil
		}
		t, including = end, true
	}
}

func offsetOf(t time.Time) time.Duration {
	_, seconds := t.Zone()
	return time.Duration(seconds) * time.Second
}
