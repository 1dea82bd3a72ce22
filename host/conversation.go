package host

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/hooks"
	"github.com/picoclaw/picoclaw/host/mcp"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/statefiles"
)

// Conversation is an agent's conversation with its model, tools and messages. Its turns run one after another.
type Conversation struct {
	*session.Session
	runtime    *Runtime
	agent      *agent.Agent
	transcript *agent.Transcript
	closeModel func() // releases the resources of its model
}

// ConversationDir returns the directory of an agent's conversations.
func ConversationDir(home, agent string) string { return filepath.Join(home, "sessions", agent) }

// OpenConversation opens a conversation of an agent. An empty id means the first agent. A conversation with a key is
// stored and continues where it ended.
func (a *Runtime) OpenConversation(ctx context.Context, agentID, key string, origin session.Origin) (*Conversation, error) {
	s, err := a.OpenSession(agentID, origin)
	if err != nil {
		return nil, err
	}
	return a.newConversation(ctx, s, key)
}

func (a *Runtime) newConversation(ctx context.Context, s *session.Session, key string) (*Conversation, error) {
	of, err := a.config.ResolveAgent(s.Policy().AgentID())
	if err != nil {
		return nil, err
	}
	c := &Conversation{Session: s, runtime: a, transcript: agent.NewTranscript()}
	if key != "" {
		home, dir := s.Policy().HomePath(), ConversationDir(s.Policy().HomePath(), of.ID)
		if err = statefiles.CheckNotMissing(home, agent.TranscriptPath(dir, key)); err != nil {
			return nil, err
		}
		if c.transcript, err = agent.OpenTranscript(dir, key); err != nil {
			return nil, err
		}
		if err = statefiles.AddToList(home, c.transcript.Path()); err != nil {
			return nil, errors.Join(err, c.transcript.Close())
		}
	}
	o, end, err := a.agentOptions(s)
	if err != nil {
		return nil, errors.Join(err, c.transcript.Close())
	}
	c.closeModel = end
	o.Transcript = c.transcript
	source := "startup"
	if len(c.transcript.Messages()) > 0 {
		source = "resume"
	}
	v := a.hooks.HandleEvent(c.withHookTurn(ctx, nil), s, hooks.EventData{Event: hooks.SessionStart, Source: source})
	if v.Context != "" {
		o.System += "\n\n" + v.Context
	}
	c.agent = agent.New(o)
	return c, nil
}

// agentOptions returns the options of the agent that uses a session. end releases the agent's model.
func (a *Runtime) agentOptions(s *session.Session) (o agent.Options, end func(), err error) {
	of, err := a.config.ResolveAgent(s.Policy().AgentID())
	if err != nil {
		return o, nil, err
	}
	m, err := a.findAgentModel(of)
	if err != nil {
		return o, nil, err
	}
	model, end, err := a.newModel(m, s)
	if err != nil {
		return o, nil, err
	}
	if a.telemetry != nil {
		by, name, _ := strings.Cut(m.Model, "/")
		model = &tracedModel{model, a.telemetry, by, name}
	}
	if a.hooks.WantsModelMessages() {
		model = &hookedModel{model, a.hooks, s}
	}
	system := "You are an agent that works on a person's machine by means of tools.\n\n" + mcp.ModelInstructions(s.Policy())
	if of.Instructions != "" {
		system += "\n\n" + of.Instructions
	}
	return agent.Options{Model: model, Tools: s, System: system, Settings: agentLoopSettings(of, m),
		Inbox: a.team.SessionInbox(s)}, end, nil
}

// maxContinues limits how often hooks make an agent continue in one turn.
const maxContinues = 8

// RunTurn runs one turn of the agent. Stopping the agent cancels the turn. Hooks may continue or end it.
func (c *Conversation) RunTurn(ctx context.Context, text string, observe func(agent.TurnEvent)) (_ *agent.TurnOutcome, err error) {
	ctx, done := c.runtime.WithAgentStop(ctx, c.Policy().AgentID())
	defer done()
	ctx, ended := c.runtime.telemetry.TraceTurn(ctx, c.Policy().AgentID())
	defer func() { ended(err) }()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	ctx = c.withHookTurn(ctx, end)
	v := c.runtime.hooks.HandleEvent(ctx, c.Session, hooks.EventData{Event: hooks.UserPromptSubmit, Prompt: text})
	switch {
	case v.Deny != "":
		return &agent.TurnOutcome{}, fmt.Errorf("%s has refused the prompt: %s", v.Rule, v.Deny)
	case v.Context != "":
		text += "\n\n" + v.Context
	}
	for kept := 0; ; kept++ {
		outcome, err := c.agent.RunTurn(ctx, text, observe)
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		if err != nil || kept == maxContinues {
			return outcome, err
		}
		v = c.runtime.hooks.HandleEvent(ctx, c.Session, hooks.EventData{Event: hooks.Stop, Active: kept > 0})
		if v.Deny == "" {
			return outcome, nil
		}
		text = v.Deny
	}
}

// withHookTurn returns a context that gives hooks the conversation's transcript and a function that ends the turn.
func (c *Conversation) withHookTurn(ctx context.Context, end func(error)) context.Context {
	return hooks.WithTurn(ctx, hooks.AgentTurn{Transcript: c.transcript.Path(), End: end})
}

// Messages returns the messages so far.
func (c *Conversation) Messages() []agent.Message { return c.transcript.Messages() }

// Close closes the conversation.
func (c *Conversation) Close(ctx context.Context, reason string) error {
	c.runtime.hooks.HandleEvent(c.withHookTurn(ctx, nil), c.Session, hooks.EventData{Event: hooks.SessionEnd, Reason: reason})
	c.runtime.team.EndSession(c.Session)
	c.closeModel()
	return c.transcript.Close()
}

func secondsToDuration(n int64) time.Duration { return time.Duration(n) * time.Second }
func minutesToDuration(n int64) time.Duration { return time.Duration(n) * time.Minute }
