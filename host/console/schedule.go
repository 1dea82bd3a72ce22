package console

import (
	"time"

	"github.com/picoclaw/picoclaw/host/schedule"
)

// mostRuns is how many runs of an agent's jobs are shown.
const mostRuns = 25

// scheduled is an agent's jobs and heartbeat.
type scheduled struct {
	Agent     string
	Jobs      []job
	Idle      bool // its jobs don't run
	Heartbeat time.Duration
	Beat      *schedule.Record // the last one; nil for none
	Runs      []schedule.Record
	Problem   string // why they can't be shown
}

// job is one with its times.
type job struct {
	schedule.Job

	Last, Next time.Time // zero for none
	Due        bool
}

func (c *Console) showSchedule(*visit) (any, error) {
	agents, err := c.options.Instance.Agents()
	if err != nil {
		return nil, err
	}
	var all []scheduled
	for _, a := range agents {
		all = append(all, c.scheduleOf(a))
	}
	return all, nil
}

// scheduleOf reads an agent's schedule. A file that can't be read does not hide the others.
func (c *Console) scheduleOf(a Agent) scheduled {
	out := scheduled{Agent: a.ID, Idle: !a.Jobs, Heartbeat: a.Heartbeat}
	kept := schedule.OpenStore(schedule.StoreDir(c.options.Home, a.ID))
	jobs, err := kept.Jobs()
	if err != nil {
		out.Problem = err.Error()
	}
	now := time.Now()
	for _, j := range jobs {
		one := job{Job: j}
		if ms := j.State.LastRunAtMs; ms > 0 {
			one.Last = time.UnixMilli(ms)
		}
		if ms := j.State.NextRunAtMs; ms > 0 && j.Enabled {
			one.Next = time.UnixMilli(ms)
			one.Due = !one.Next.After(now)
		}
		out.Jobs = append(out.Jobs, one)
	}
	runs, err := kept.RecentRuns("", mostRuns)
	if err != nil {
		out.Problem = err.Error()
	}
	for i := len(runs) - 1; i >= 0; i-- {
		out.Runs = append(out.Runs, runs[i])
	}
	if beats, err := kept.RecentRuns(schedule.HeartbeatID, 1); err == nil && len(beats) > 0 {
		out.Beat = &beats[0]
	}
	return out
}
