package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/host/hooks"
	"github.com/picoclaw/picoclaw/host/schedule"
	"github.com/picoclaw/picoclaw/host/schedule/crontool"
	"github.com/picoclaw/picoclaw/host/session"
)

// cronTool is the tool with which agents see and change their jobs.
func (a *Assembly) cronTool() (session.BuiltinPlugin, error) {
	p, err := crontool.NewPlugin(crontool.Options{
		Store: a.jobs,
		AllowCommand: func(agent string) bool {
			of, err := a.config.ResolveAgent(agent)
			return err == nil && of.Tools.Cron.AllowCommand
		},
	})
	p.OfferedTo = func(agent string) bool {
		of, err := a.config.ResolveAgent(agent)
		return err == nil && of.Tools.Cron.Enabled
	}
	return p, err
}

func (a *Assembly) jobs(agent string) *schedule.Store {
	return schedule.OpenStore(schedule.StoreDir(a.config.Home().Path, agent))
}

// Schedules are the schedulers of agents, over all configurations that a process has had: a job that runs when the
// configuration changes is known to the next one. The zero value is ready to be used.
type Schedules struct {
	mu     sync.Mutex
	owner  *Assembly // the one that runs what is due; nil for none
	agents map[string]*scheduled
	ended  sync.WaitGroup
}

// scheduled is one agent's scheduler.
type scheduled struct {
	*schedule.Scheduler
	end   context.CancelFunc
	turns chan struct{} // how many turns there are at a time
}

// Begin has heartbeats and jobs run on this assembly from now on.
func (a *Assembly) Begin() {
	s := a.options.Schedules
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = a
	if s.agents == nil {
		s.agents = map[string]*scheduled{}
	}
	wanted := map[string]bool{}
	for _, id := range a.config.AgentIDs() {
		of, err := a.config.ResolveAgent(id)
		if err != nil {
			continue // it was checked when the configuration was loaded
		}
		set := schedule.Settings{Timeout: minutes(of.Tools.Cron.ExecTimeoutMinutes), AllowCommand: of.Tools.Cron.AllowCommand,
			NoJobs: !of.Tools.Cron.Enabled}
		if _, err := a.modelOf(of); err == nil && of.Heartbeat.Enabled {
			set.Heartbeat = schedule.HeartbeatInterval(of.Heartbeat.Interval)
		}
		if !of.Tools.Cron.Enabled && set.Heartbeat == 0 {
			continue
		}
		wanted[id] = true
		if known := s.agents[id]; known != nil {
			known.UpdateSettings(set)
			if most := max(1, int(of.MaxParallelTurns)); most != cap(known.turns) {
				known.turns = make(chan struct{}, most)
			}
			continue
		}
		s.begin(a, id, set, max(1, int(of.MaxParallelTurns)))
	}
	for id, known := range s.agents {
		if !wanted[id] {
			known.end()
			delete(s.agents, id)
		}
	}
}

// begin begins an agent's schedule. Which assembly runs a job is known when it begins.
func (s *Schedules) begin(a *Assembly, id string, set schedule.Settings, turns int) {
	ctx, end := context.WithCancel(context.Background())
	one := &scheduled{end: end, turns: make(chan struct{}, turns)}
	one.Scheduler = schedule.NewScheduler(schedule.Options{
		Store: a.jobs(id), Settings: set, Grace: a.options.Grace, Logger: a.options.Logger.Named("schedule"),
		Run: func(ctx context.Context, j schedule.Job) (string, error) {
			s.mu.Lock()
			on, turns := s.owner, one.turns
			s.mu.Unlock()
			if on == nil {
				return "", errEnding
			}
			return on.job(ctx, id, j, turns)
		},
		Paused: func() bool {
			on := s.current()
			return on == nil || on.StopOf(id) != nil
		},
		Deliver: func(r schedule.Record) {
			if on := s.current(); on != nil {
				on.deliver(id, r)
			}
		},
	})
	s.agents[id] = one
	s.ended.Go(func() { one.Run(ctx) })
}

func (s *Schedules) current() *Assembly {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner
}

// Retire has nothing more begin, unless another assembly has taken over.
func (a *Assembly) Retire() {
	s := a.options.Schedules
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.owner != a {
		return
	}
	for id, one := range s.agents {
		one.end()
		delete(s.agents, id)
	}
}

var errEnding = errors.New("picoclaw is ending")

// within returns a context for what runs for an agent: it ends with the assembly, and when the operator stops the
// agent.
func (a *Assembly) within(ctx context.Context, agent string) (context.Context, context.CancelFunc) {
	ctx, done := a.WithStop(ctx, agent)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.life, func() { cancel(errEnding) })
	return ctx, func() { stop(); cancel(nil); done() }
}

// job runs a job: a command as a call, anything else as a turn. turns bounds how many turns there are at a time.
func (a *Assembly) job(ctx context.Context, id string, j schedule.Job, turns chan struct{}) (string, error) {
	ctx, done := a.within(ctx, id)
	defer done()
	origin := session.Cron
	if j.Payload.Kind == schedule.HeartbeatTurn {
		origin = session.Heartbeat
	}
	s, err := a.jobSession(id, origin, j)
	if err != nil {
		return "", err
	}
	if j.Payload.Command != "" {
		return command(ctx, s, j.Payload.Command)
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	c, err := a.converse(ctx, s, "")
	if err != nil {
		return "", err
	}
	outcome, err := c.Turn(ctx, j.Payload.Message, nil)
	err = errors.Join(err, c.Close(ctx, "other"))
	if Ended(err) {
		return outcome.Text + "\n" + err.Error(), nil
	}
	return outcome.Text, err
}

// jobSession opens the session of a job's run, narrowed as the one was that added the job.
func (a *Assembly) jobSession(id string, origin session.Origin, j schedule.Job) (*session.Session, error) {
	s, err := a.OpenSession(id, origin)
	narrowing := crontool.JobNarrowing(j)
	if err != nil || j.Scope == nil {
		return s, err
	}
	s, err = s.SpawnSession(origin, narrowing)
	if err == nil && !reflect.DeepEqual(s.Policy().Narrowing(), narrowing) {
		err = errors.New("a directory that confines the job leads elsewhere than when it was added; remove the job")
	}
	return s, err
}

// command runs a command as the agent's tool does, with all that it is held to.
func command(ctx context.Context, s *session.Session, text string) (string, error) {
	arguments, err := json.Marshal(map[string]string{"command": text})
	if err != nil {
		return "", err
	}
	r := s.Call(ctx, "exec", arguments, nil)
	if r.Err != nil {
		return r.Text, fmt.Errorf("%s", r.Err.Explained())
	}
	return r.Text, nil
}

// deliver tells hooks what a job or a heartbeat had to say. It is in the log of runs besides.
func (a *Assembly) deliver(id string, r schedule.Record) {
	if a.hooks == nil {
		return
	}
	s, err := a.OpenSession(id, session.Cron)
	if err != nil {
		return // what ran has said so
	}
	text := r.Text
	if r.Error != "" {
		text = strings.TrimSpace(text + "\n" + r.Error)
	}
	a.hooks.HandleEvent(a.life, s, hooks.EventData{Event: hooks.Notification, Title: r.Name, Message: text,
		Kind: "job_" + string(r.Status)})
}
