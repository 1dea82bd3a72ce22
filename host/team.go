package host

import (
	"context"
	"slices"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/hooks"
	"github.com/picoclaw/picoclaw/host/policy"
	"github.com/picoclaw/picoclaw/host/session"
)

// newTeam makes the team in which agents give work to others, and its tools.
func (a *Assembly) newTeam() (session.BuiltinPlugin, error) {
	a.team = agent.NewTeam(agent.TeamOptions{
		Limits: a.teamLimits, Open: a.member, AllowedAgents: a.delegates, Outlive: a.options.Schedules != nil,
		WithStop: func(ctx context.Context, parent *session.Session) (context.Context, context.CancelFunc) {
			return a.within(ctx, parent.Policy().Agent())
		},
	})
	p, err := a.team.BuiltinPlugin()
	p.OfferedTo = func(agent string) bool {
		of, err := a.config.ResolveAgent(agent)
		if err != nil {
			return false
		}
		_, err = a.modelOf(of)
		return err == nil && of.Subturn.MaxDepth > 0
	}
	return p, err
}

func (a *Assembly) teamLimits(parent *session.Session) agent.TeamLimits {
	of, err := a.config.ResolveAgent(parent.Policy().Agent())
	if err != nil {
		return agent.DefaultTeamLimits() // no session is of an agent that is not there
	}
	s := of.Subturn
	return agent.TeamLimits{Depth: int(s.MaxDepth), Concurrent: int(s.MaxConcurrent), Timeout: minutes(s.TimeoutMinutes),
		SlotWait: seconds(s.ConcurrencyTimeout)}
}

// delegates are the agents that a session's agent may give work to.
func (a *Assembly) delegates(parent *session.Session) []string {
	of, err := a.config.ResolveAgent(parent.Policy().Agent())
	if err != nil {
		return nil
	}
	if slices.Contains(of.Subagents.AllowAgents, "*") {
		return a.config.AgentIDs()
	}
	return of.Subagents.AllowAgents
}

// member opens an agent for a task: one like its parent, with its policy, or another with its own.
func (a *Assembly) member(ctx context.Context, t agent.Task) (*agent.Member, error) {
	var s *session.Session
	var err error
	if t.Agent == "" || t.Agent == t.Parent.Policy().Agent() {
		s, err = t.Parent.SpawnSession(session.Subagent, policy.Narrowing{})
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
	of, err := a.config.ResolveAgent(s.Policy().Agent())
	if err != nil {
		end()
		return nil, err
	}
	if most := of.Subturn.TokenBudget; most > 0 && (o.Settings.Budget.Tokens == 0 || most < o.Settings.Budget.Tokens) {
		o.Settings.Budget.Tokens = most
	}
	o.System += "\n\nYou are a subagent: another agent has given you one task, and reads your last message as its result."
	return &agent.Member{Agent: agent.New(o), Session: s, Close: func() error {
		end()
		a.hooks.HandleEvent(context.WithoutCancel(ctx), s, hooks.EventData{Event: hooks.SubagentStop, AgentType: s.Policy().Agent()})
		return nil
	}}, nil
}
