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

// RemoteAgentServer serves the agents of a fleet that run on other machines.
type RemoteAgentServer struct {
	fleet   *fleet.Fleet
	client  *fleet.Client
	running atomic.Int64
	*mcpEndpoints
}

// RemoteAgentOptions configure [RemoteAgentServer].
type RemoteAgentOptions struct {
	Fleet   *fleet.Fleet
	Config  *config.Config
	Version string
	Token   func(agent string) (string, error)
	Logger  hclog.Logger
}

// ServeRemoteAgents connects to a fleet and serves its agents.
func ServeRemoteAgents(o RemoteAgentOptions) (*RemoteAgentServer, error) {
	endpoints, err := newMCPEndpoints(o.Config, o.Version, o.Token, o.Logger)
	if err != nil {
		return nil, err
	}
	client, err := fleet.NewClient(o.Fleet)
	if err != nil {
		return nil, err
	}
	r := &RemoteAgentServer{fleet: o.Fleet, client: client, mcpEndpoints: endpoints}
	r.open = r.openMCPSession
	return r, nil
}

// openMCPSession opens a remote agent's session for MCP clients.
func (r *RemoteAgentServer) openMCPSession(ctx context.Context, agent string) (*agentMCPSession, error) {
	sess, err := r.client.Session(ctx, agent, session.MCP)
	if errors.Is(err, fleet.ErrNowhere) {
		return nil, errUnknownAgent
	}
	if err != nil {
		return nil, err
	}
	return &agentMCPSession{&callCountingSession{sess, &r.running}, sess.Instructions(), sess.Changes}, nil
}

// callCountingSession is a remote session that counts its running calls.
type callCountingSession struct {
	*fleet.Session
	running *atomic.Int64
}

// Call calls a tool, and counts the call while it runs.
func (c *callCountingSession) Call(ctx context.Context, tool string, arguments json.RawMessage,
	events func(session.CallEvent)) *session.Result {
	c.running.Add(1)
	defer c.running.Add(-1)
	return c.Session.Call(ctx, tool, arguments, events)
}

// ActivityCounts returns the number of running calls and of MCP sessions.
func (r *RemoteAgentServer) ActivityCounts() (running, sessions int) {
	return int(r.running.Load()), r.countSessions()
}

// PublishedPorts returns nil: sandboxes run on the workers of the fleet.
func (r *RemoteAgentServer) PublishedPorts() []string { return nil }

// HealthChecks reports if the fleet is reached.
func (r *RemoteAgentServer) HealthChecks() []gateway.ReadinessCheck {
	return []gateway.ReadinessCheck{{Name: "fleet", Err: r.fleet.Reached()}}
}

// StartSchedulers does nothing: the workers of the fleet run jobs.
func (r *RemoteAgentServer) StartSchedulers() {}

// StopSchedulers does nothing.
func (r *RemoteAgentServer) StopSchedulers() {}

// Close ends all sessions and disconnects from the fleet.
func (r *RemoteAgentServer) Close(ctx context.Context) error {
	r.closeEndpoints(ctx)
	r.client.Close()
	r.fleet.Close()
	return nil
}

// MovableWorkspacePath returns the path of an agent's workspace that can move to another machine. It returns an error
// if another agent uses the workspace.
func (a *Runtime) MovableWorkspacePath(agent string) (string, error) {
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
			return "", fmt.Errorf("workspace %s of agent %s can't be moved: agent %s uses %s; "+
				"give each agent its own agents.agents[].workspace", dir, agent, id, its)
		}
	}
	return dir, nil
}
