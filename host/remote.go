package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/fleet"
	"github.com/picoclaw/picoclaw/host/gateway"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/paths"
)

// RemoteAgents serves the agents of a fleet, and none of its own.
type RemoteAgents struct {
	fleet   *fleet.Fleet
	client  *fleet.Client
	running atomic.Int64
	mcpEndpoints
}

// RemoteOptions configure [RemoteAgents].
type RemoteOptions struct {
	Fleet   *fleet.Fleet
	Config  *config.Config
	Version string
	Token   func(agent string) (string, error)
	Logger  hclog.Logger
}

// OpenRemote connects to a fleet and serves its agents.
func OpenRemote(o RemoteOptions) (*RemoteAgents, error) {
	client, err := fleet.NewClient(o.Fleet)
	if err != nil {
		return nil, err
	}
	r := &RemoteAgents{fleet: o.Fleet, client: client, mcpEndpoints: mcpEndpoints{version: o.Version, token: o.Token,
		allowedHosts: o.Config.Gateway().AllowHosts, defaultAgent: o.Config.AgentIDs()[0], home: o.Config.Home(), log: o.Logger, endpoints: map[string]*mcpEndpoint{}}}
	r.open = r.openDoor
	return r, nil
}

// openDoor opens an agent's session for MCP clients.
func (r *RemoteAgents) openDoor(ctx context.Context, agent string) (*agentDoor, error) {
	sess, err := r.client.Session(ctx, agent, session.MCP)
	if errors.Is(err, fleet.ErrNowhere) {
		return nil, errUnknownAgent
	}
	if err != nil {
		return nil, err
	}
	return &agentDoor{&countedSession{sess, &r.running}, sess.Instructions(), sess.Changes}, nil
}

// countedSession counts its running calls.
type countedSession struct {
	*fleet.Session
	running *atomic.Int64
}

// Call calls a tool.
func (c *countedSession) Call(ctx context.Context, tool string, arguments json.RawMessage,
	events func(session.CallEvent)) *session.Result {
	c.running.Add(1)
	defer c.running.Add(-1)
	return c.Session.Call(ctx, tool, arguments, events)
}

// ActivityCounts returns the number of running calls and of MCP sessions.
func (r *RemoteAgents) ActivityCounts() (running, sessions int) {
	return int(r.running.Load()), r.countSessions()
}

// HealthChecks returns the conditions for calls.
func (r *RemoteAgents) HealthChecks() []gateway.Check {
	return []gateway.Check{{Name: "fleet", Err: r.fleet.Reached()}}
}

// BeginSchedule does nothing.
func (r *RemoteAgents) BeginSchedule() {}

// RetireSchedule does nothing.
func (r *RemoteAgents) RetireSchedule() {}

// Close stops everything.
func (r *RemoteAgents) Close(ctx context.Context) error {
	r.closeEndpoints(ctx)
	r.client.Close()
	r.fleet.Close()
	return nil
}

// MovableWorkspace returns an agent's workspace if it can move to another machine: no other agent may use it.
func (a *Assembly) MovableWorkspace(agent string) (string, error) {
	mine, err := a.OpenSession(agent, session.CLI)
	if err != nil {
		return "", err
	}
	dir := mine.Policy().WorkspacePath()
	if paths.Within(dir, a.config.Home().Path) {
		return "", fmt.Errorf("the home lies in the workspace of agent %s, %s, which can't be moved", agent, dir)
	}
	for _, id := range a.config.AgentIDs() {
		if id == agent {
			continue
		}
		other, err := a.OpenSession(id, session.CLI)
		if err != nil {
			return "", err
		}
		if its := other.Policy().WorkspacePath(); paths.Within(dir, its) || paths.Within(its, dir) {
			return "", fmt.Errorf("agent %s has its workspace %s together with agent %s (%s): with agents.list[].workspace "+
				"each can have its own, and only such a one is moved", agent, dir, id, its)
		}
	}
	return dir, nil
}
