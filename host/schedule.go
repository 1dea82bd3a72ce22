package host

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/picoclaw/picoclaw/host/hooks"
	"github.com/picoclaw/picoclaw/host/schedule"
	"github.com/picoclaw/picoclaw/host/schedule/crontool"
	"github.com/picoclaw/picoclaw/host/session"
)

// newCronPlugin returns the built-in plugin with which agents manage their jobs.
func (a *Runtime) newCronPlugin() (session.BuiltinPlugin, error) {
	p, err := crontool.NewPlugin(crontool.Options{
		Store: a.jobStore,
		AllowCommand: func(agent string) bool {
			of, err := a.config.ResolveAgent(agent)
			return err == nil && of.Tools.Cron.AllowCommand
		},
	})
	p.OfferedTo = func(agent string) bool {
		of, resolveErr := a.config.ResolveAgent(agent)
		return resolveErr == nil && of.Tools.Cron.Enabled
	}
	return p, err
}

func (a *Runtime) jobStore(agent string) *schedule.Store {
	return schedule.OpenStore(a.config.Home().Path, agent)
}

// AgentSchedulers holds the scheduler of each agent. It outlives reloads of the configuration, so that a new runtime
// knows the jobs that are running. The zero value is ready to use.
type AgentSchedulers struct {
	mu     sync.Mutex
	owner  *Runtime // runs due jobs; may be nil
	agents map[string]*agentScheduler
	ended  sync.WaitGroup
}

// agentScheduler is the scheduler of one agent.
type agentScheduler struct {
	*schedule.Scheduler
	end   context.CancelFunc
	turns chan struct{} // limits concurrent turns
}

// StartSchedulers makes this runtime run heartbeats and jobs from now on.
func (a *Runtime) StartSchedulers() {
	s := a.options.Schedules
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.owner = a
	if s.agents == nil {
		s.agents = map[string]*agentScheduler{}
	}
	wanted := map[string]bool{}
	for _, id := range a.config.AgentIDs() {
		of, err := a.config.ResolveAgent(id)
		if err != nil {
			continue // checked when the configuration was loaded
		}
		set := schedule.SchedulerSettings{Timeout: minutesToDuration(of.Tools.Cron.ExecTimeoutMinutes), AllowCommand: of.Tools.Cron.AllowCommand,
			NoJobs: !of.Tools.Cron.Enabled}
		if _, err := a.findAgentModel(of); err == nil && of.Heartbeat.Enabled {
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
		s.startAgentScheduler(a, id, set, max(1, int(of.MaxParallelTurns)))
	}
	for id, known := range s.agents {
		if !wanted[id] {
			known.end()
			delete(s.agents, id)
		}
	}
}

// schedulerErrors returns why the jobs of agents do not run; nil if all run.
func (s *AgentSchedulers) schedulerErrors() (all error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(s.agents)) {
		if err := s.agents[id].Err(); err != nil {
			all = errors.Join(all, fmt.Errorf("no job of agent %s runs: %w", id, err))
		}
	}
	return all
}

// startAgentScheduler starts an agent's scheduler. Each job runs in the runtime that is current when the job starts.
func (s *AgentSchedulers) startAgentScheduler(a *Runtime, id string, set schedule.SchedulerSettings, turns int) {
	ctx, end := context.WithCancel(context.Background())
	one := &agentScheduler{end: end, turns: make(chan struct{}, turns)}
	one.Scheduler = schedule.NewScheduler(schedule.Options{
		Store: a.jobStore(id), Settings: set, Grace: a.options.Grace, Logger: a.options.Logger.Named("schedule"),
		Run: func(ctx context.Context, j schedule.Job) (string, error) {
			s.mu.Lock()
			on, turns := s.owner, one.turns
			s.mu.Unlock()
			if on == nil {
				return "", errEnding
			}
			return on.runJob(ctx, id, j, turns)
		},
		Paused: func() bool {
			on := s.currentRuntime()
			return on == nil || on.StopOfAgent(id) != nil
		},
		Deliver: func(r schedule.RunRecord) {
			if on := s.currentRuntime(); on != nil {
				on.deliverResultToHooks(id, r)
			}
		},
	})
	s.agents[id] = one
	s.ended.Go(func() { one.Run(ctx) })
}

func (s *AgentSchedulers) currentRuntime() *Runtime {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.owner
}

// StopSchedulers ends the schedulers: running jobs finish, and no more start. It does nothing if a newer runtime has
// started the schedulers.
func (a *Runtime) StopSchedulers() {
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

// withAgentContext returns a context for work of an agent. Closing the runtime or stopping the agent cancels it.
func (a *Runtime) withAgentContext(ctx context.Context, agent string) (context.Context, context.CancelFunc) {
	ctx, done := a.WithAgentStop(ctx, agent)
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(a.ctx, func() { cancel(errEnding) })
	return ctx, func() { stop(); cancel(nil); done() }
}

// runJob runs a job: a command as a tool call, a message as a turn. turns limits concurrent turns.
func (a *Runtime) runJob(ctx context.Context, id string, j schedule.Job, turns chan struct{}) (string, error) {
	ctx, done := a.withAgentContext(ctx, id)
	defer done()
	origin := session.Cron
	if j.Payload.Kind == schedule.HeartbeatTurn {
		origin = session.Heartbeat
	}
	s, err := a.openJobSession(id, origin, j)
	if err != nil {
		return "", err
	}
	if j.Payload.Command != "" {
		return callTool(ctx, s, "exec", map[string]any{"command": j.Payload.Command})
	}
	select {
	case turns <- struct{}{}:
		defer func() { <-turns }()
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	c, err := a.newConversation(ctx, s, "")
	if err != nil {
		return "", err
	}
	outcome, err := c.RunTurn(ctx, j.Payload.Message, nil)
	err = errors.Join(err, c.Close(ctx, "other"))
	if IsTurnEndedByHook(err) {
		return outcome.Text + "\n" + err.Error(), nil
	}
	return outcome.Text, err
}

// openJobSession opens a session for a job, with the restrictions of the session that added the job.
func (a *Runtime) openJobSession(id string, origin session.Origin, j schedule.Job) (*session.Session, error) {
	s, err := a.OpenSession(id, origin)
	if err != nil || reflect.ValueOf(j.Scope).IsZero() {
		return s, err
	}
	if s, err = s.RestoreSession(origin, j.Scope); err != nil {
		err = fmt.Errorf("the job's restrictions can't be kept: %w; remove the job", err)
	}
	return s, err
}

// deliverResultToHooks sends the result of a job or heartbeat to hooks.
func (a *Runtime) deliverResultToHooks(id string, r schedule.RunRecord) {
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
	a.hooks.HandleEvent(a.ctx, s, hooks.EventData{Event: hooks.Notification, Title: r.Name, Message: text,
		Kind: "job_" + string(r.Status)})
}
