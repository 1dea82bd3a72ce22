package host

import (
	"context"
	"slices"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/hooks"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
)

// newTeamPlugin creates the team to which agents delegate tasks, and returns its tools.
func (a *Runtime) newTeamPlugin() (session.BuiltinPlugin, error) {
	a.team = agent.NewTeam(agent.TeamOptions{
		Limits: a.teamLimits, Open: a.openTaskAgent, AllowedAgents: a.allowedDelegates, Outlive: a.options.Schedules != nil,
		WithStop: func(ctx context.Context, parent *session.Session) (context.Context, context.CancelFunc) {
			return a.withAgentContext(ctx, parent.Policy().AgentID())
		},
	})
	p, err := a.team.BuiltinPlugin()
	p.OfferedTo = func(agent string) bool {
		of, resolveErr := a.config.ResolveAgent(agent)
		if resolveErr != nil {
			return false
		}
		_, resolveErr = a.findAgentModel(of)
		return resolveErr == nil && of.Subturn.MaxDepth > 0
	}
	return p, err
}

func (a *Runtime) teamLimits(parent *session.Session) agent.TeamLimits {
	of, err := a.config.ResolveAgent(parent.Policy().AgentID())
	if err != nil {
		return agent.DefaultTeamLimits() // sessions have existing agents
	}
	s := of.Subturn
	return agent.TeamLimits{Depth: int(s.MaxDepth), Concurrent: int(s.MaxConcurrent), Timeout: minutesToDuration(s.TimeoutMinutes),
		SlotWait: secondsToDuration(s.ConcurrencyTimeout)}
}

// allowedDelegates returns the agents to which a session may delegate tasks.
func (a *Runtime) allowedDelegates(parent *session.Session) []string {
	of, err := a.config.ResolveAgent(parent.Policy().AgentID())
	if err != nil {
		return nil
	}
	if slices.Contains(of.Subagents.AllowAgents, "*") {
		return a.config.AgentIDs()
	}
	return of.Subagents.AllowAgents
}

// openTaskAgent opens an agent for a task: a copy of the parent with its policy, or another agent with its own policy.
func (a *Runtime) openTaskAgent(ctx context.Context, t agent.ChildTask) (*agent.TaskAgent, error) {
	var s *session.Session
	var err error
	if t.Agent == "" || t.Agent == t.Parent.Policy().AgentID() {
		s, err = t.Parent.SpawnSession(session.Subagent, policy.Restriction{})
	} else {
		s, err = t.Parent.DelegateSession(t.Agent)
	}
	if err != nil {
		return nil, err
	}
	o, end, err := a.agentOptions(s)
	if err != nil {
		return nil, err
	}
	of, err := a.config.ResolveAgent(s.Policy().AgentID())
	if err != nil {
		end()
		return nil, err
	}
	if most := of.Subturn.TokenBudget; most > 0 && (o.Settings.Budget.Tokens == 0 || most < o.Settings.Budget.Tokens) {
		o.Settings.Budget.Tokens = most
	}
	o.System += "\n\nYou are a subagent: another agent has given you one task, and reads your last message as its result."
	return &agent.TaskAgent{Agent: agent.New(o), Session: s, Close: func() error {
		end()
		a.hooks.HandleEvent(context.WithoutCancel(ctx), s, hooks.EventData{Event: hooks.SubagentStop, AgentType: s.Policy().AgentID()})
		return nil
	}}, nil
}
