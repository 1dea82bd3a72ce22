package console

import (
	"slices"
	"time"

	"github.com/picoclaw/picoclaw/host/schedule"
)

// maxRuns limits the runs shown for each agent.
const maxRuns = 25

// agentSchedule is an agent's jobs and heartbeat.
type agentSchedule struct {
	Agent     string
	Jobs      []jobRow
	Idle      bool // its jobs are disabled
	Heartbeat time.Duration
	Beat      *schedule.RunRecord // the latest; may be nil
	Runs      []schedule.RunRecord
	Problem   string // why they can't be shown
}

// jobRow is a job with its times as text.
type jobRow struct {
	schedule.Job

	Last, Next time.Time // may be zero
	Due        bool
}

func (c *Console) showSchedule(*authenticatedRequest) (any, error) {
	agents, err := c.options.Instance.Agents()
	if err != nil {
		return nil, err
	}
	var all []agentSchedule
	for _, a := range agents {
		all = append(all, c.readAgentSchedule(a))
	}
	return all, nil
}

// readAgentSchedule reads an agent's jobs and runs. An unreadable file becomes an error text on the page.
func (c *Console) readAgentSchedule(a Agent) agentSchedule {
	out := agentSchedule{Agent: a.ID, Idle: !a.Jobs, Heartbeat: a.Heartbeat}
	kept := schedule.OpenStore(c.options.Home, a.ID)
	jobs, err := kept.Jobs()
	if err != nil {
		out.Problem = err.Error()
	}
	now := time.Now()
	for _, j := range jobs {
		one := jobRow{Job: j}
		if ms := j.State.LastRunAtMs; ms > 0 {
			one.Last = time.UnixMilli(ms)
		}
		if ms := j.State.NextRunAtMs; ms > 0 && j.Enabled {
			one.Next = time.UnixMilli(ms)
			one.Due = !one.Next.After(now)
		}
		out.Jobs = append(out.Jobs, one)
	}
	runs, err := kept.RecentRuns("", maxRuns)
	if err != nil {
		out.Problem = err.Error()
	}
	slices.Reverse(runs)
	out.Runs = runs
	if beats, err := kept.RecentRuns(schedule.HeartbeatID, 1); err == nil && len(beats) > 0 {
		out.Beat = &beats[0]
	}
	return out
}
