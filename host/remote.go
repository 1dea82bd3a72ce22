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

// Remote serves the agents of a fleet, and none of its own.
type Remote struct {
	fleet   *fleet.Fleet
	client  *fleet.Client
	running atomic.Int64
	doors
}

// RemoteOptions are whose agents are served, and how.
type RemoteOptions struct {
	Fleet   *fleet.Fleet
	Config  *config.Config
	Version string
	Token   func(agent string) (string, error)
	Logger  hclog.Logger
}

// OpenRemote makes what serves a fleet's agents.
func OpenRemote(o RemoteOptions) (*Remote, error) {
	client, err := fleet.NewClient(o.Fleet)
	if err != nil {
		return nil, err
	}
	r := &Remote{fleet: o.Fleet, client: client, doors: doors{version: o.Version, token: o.Token,
		hosts: o.Config.Gateway().AllowHosts, first: o.Config.AgentIDs()[0], log: o.Logger, all: map[string]*served{}}}
	r.open = r.door
	return r, nil
}

// door opens an agent's session for clients.
func (r *Remote) door(ctx context.Context, agent string) (*door, error) {
	sess, err := r.client.Session(ctx, agent, session.MCP)
	if errors.Is(err, fleet.ErrNowhere) {
		return nil, errNobody
	}
	if err != nil {
		return nil, err
	}
	return &door{&counted{sess, &r.running}, sess.Instructions(), sess.Changes}, nil
}

// counted is a session whose running calls are counted.
type counted struct {
	*fleet.Session
	running *atomic.Int64
}

// Call calls a tool.
func (c *counted) Call(ctx context.Context, tool string, arguments json.RawMessage,
	events func(session.Event)) *session.Result {
	c.running.Add(1)
	defer c.running.Add(-1)
	return c.Session.Call(ctx, tool, arguments, events)
}

// Busy says what has begun and not ended.
func (r *Remote) Busy() (running, sessions int) { return int(r.running.Load()), r.connected() }

// Checks says what has to be in order for calls to be made.
func (r *Remote) Checks() []gateway.Check {
	return []gateway.Check{{Name: "fleet", Err: r.fleet.Reached()}}
}

// Begin does nothing: nothing happens here by itself.
func (r *Remote) Begin() {}

// Retire does nothing either.
func (r *Remote) Retire() {}

// Close ends everything.
func (r *Remote) Close(ctx context.Context) error {
	r.doors.close(ctx)
	r.client.Close()
	r.fleet.Close()
	return nil
}

// Movable is where an agent's workspace is, if it can be brought to another machine: it has to be that agent's alone.
func (a *Assembly) Movable(agent string) (string, error) {
	mine, err := a.OpenSession(agent, session.CLI)
	if err != nil {
		return "", err
	}
	dir := mine.Policy().Workspace()
	if paths.Within(dir, a.config.Home().Path) {
		return "", fmt.Errorf("the instance root lies in the workspace of agent %s, %s, which can't be moved", agent, dir)
	}
	for _, id := range a.config.AgentIDs() {
		if id == agent {
			continue
		}
		other, err := a.OpenSession(id, session.CLI)
		if err != nil {
			return "", err
		}
		if its := other.Policy().Workspace(); paths.Within(dir, its) || paths.Within(its, dir) {
			return "", fmt.Errorf("agent %s has its workspace %s together with agent %s (%s): with agents.list[].workspace "+
				"each can have its own, and only such a one is moved", agent, dir, id, its)
		}
	}
	return dir, nil
}
