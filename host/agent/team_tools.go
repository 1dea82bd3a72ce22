package agent

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk"
)

// TeamPluginID is the id of the team's built-in plugin.
const TeamPluginID = "agents"

type spawnInput struct {
	Task  string `json:"task" jsonschema:"the subagent's task with all context: it sees nothing else"`
	Label string `json:"label,omitempty" jsonschema:"a short name for it"`
	Agent string `json:"agent_id,omitempty" jsonschema:"agent of the task; default: a copy of yourself"`
}

type subagentInput struct {
	Task  string `json:"task" jsonschema:"the subagent's task with all context: it sees nothing else"`
	Label string `json:"label,omitempty" jsonschema:"a short name for it"`
}

type delegateInput struct {
	Agent string `json:"agent_id" jsonschema:"agent of the task"`
	Task  string `json:"task" jsonschema:"the agent's task with all context: it sees nothing else"`
}

type spawnStatusInput struct {
	ID   string  `json:"id,omitempty" jsonschema:"id from spawn; default all"`
	Wait float64 `json:"wait_seconds,omitempty" jsonschema:"seconds to wait for its end, at most 60"`
}

// maxStatusWait limits the wait of spawn_status.
const maxStatusWait = time.Minute

// BuiltinPlugin returns the built-in plugin with the tools spawn, subagent, delegate and spawn_status.
func (t *Team) BuiltinPlugin() (session.BuiltinPlugin, error) {
	p := session.BuiltinPlugin{ID: TeamPluginID, Doc: "Delegates work to other agents."}
	var wrong error
	add := func(tool session.BuiltinTool, err error) {
		p.Tools = append(p.Tools, tool)
		wrong = errors.Join(wrong, err)
	}
	spawnDoc := "Start a subagent in the background. You get its result when it is done. It ends with " +
		"your turn: wait for it by spawn_status before you answer, if you need it."
	if t.options.Outlive {
		spawnDoc = "Start a subagent in the background. You get its result when it is done, be it in a " +
			"later turn."
	}
	add(session.NewBuiltinTool("spawn", spawnDoc, func(ctx context.Context, s *session.Session, in spawnInput) (string, error) {
		c, err := t.startTask(ctx, ChildTask{Parent: s, Agent: in.Agent, Label: in.Label, Text: in.Task}, true)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s has started; its ID is %s", c.displayName(), c.ID), nil
	}))
	add(session.NewBuiltinTool("subagent", "Give a task to a subagent, and wait for its result.",
		func(ctx context.Context, s *session.Session, in subagentInput) (string, error) {
			return t.runTask(ctx, ChildTask{Parent: s, Label: in.Label, Text: in.Task})
		}))
	add(session.NewBuiltinTool("delegate", "Give a task to another agent, and wait for its result.",
		func(ctx context.Context, s *session.Session, in delegateInput) (string, error) {
			if in.Agent == "" {
				return "", sdk.Errorf(sdk.InvalidArgument, "agent_id is empty").WithHint("the tool subagent starts a copy of yourself")
			}
			return t.runTask(ctx, ChildTask{Parent: s, Agent: in.Agent, Text: in.Task})
		}))
	add(session.NewBuiltinTool("spawn_status", "Show the state of subagents started by spawn, with the results of finished ones.",
		t.waitAndReportStatus))
	return p, wrong
}

// runTask runs a task and returns its result.
func (t *Team) runTask(ctx context.Context, task ChildTask) (string, error) {
	c, err := t.startTask(ctx, task, false)
	if err != nil {
		return "", err
	}
	<-c.done // soon after ctx
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.State == Failed {
		return "", sdk.Errorf(sdk.Failed, "%s has failed: %s", c.displayName(), c.Text)
	}
	return c.Text, nil
}

func (t *Team) waitAndReportStatus(ctx context.Context, s *session.Session, in spawnStatusInput) (string, error) {
	var asked []*childAgent
	t.mu.Lock()
	if f := t.groups[s]; f != nil {
		for _, c := range f.children {
			if c.background && (in.ID == "" || c.ID == in.ID) {
				asked = append(asked, c)
			}
		}
	}
	t.mu.Unlock()
	if len(asked) == 0 && in.ID != "" {
		return "", sdk.Errorf(sdk.NotFound, "there is no subagent %q", in.ID)
	}
	wait := min(time.Duration(in.Wait*float64(time.Second)), maxStatusWait)
	enough, free := context.WithTimeout(ctx, max(wait, 0))
	defer free()
	for _, c := range asked {
		select {
		case <-c.done:
		case <-enough.Done():
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	var lines []string
	for _, c := range asked {
		c.reported = c.reported || c.State != Running
		lines = append(lines, c.statusText())
	}
	if len(lines) == 0 {
		return "there are no subagents", nil
	}
	return strings.Join(lines, "\n\n"), nil
}

// displayName returns the child's name for its parent.
func (c *childAgent) displayName() string {
	name := "subagent " + c.ID
	if c.Agent != "" {
		name = "agent " + c.Agent
	}
	if c.Label != "" {
		name += fmt.Sprintf(" (%s)", c.Label)
	}
	return name
}

// statusText describes a child's state for its parent. It marks the child's text as data.
func (c *childAgent) statusText() string {
	if c.State == Running {
		return fmt.Sprintf("%s: id %s, running for %s", c.displayName(), c.ID, time.Since(c.Began).Round(time.Second))
	}
	return fmt.Sprintf("%s: id %s, %s after %s.\n%s", c.displayName(), c.ID, c.State, c.Ended.Sub(c.Began).Round(time.Second),
		markAsData(c.displayName(), c.Text))
}
