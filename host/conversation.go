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
)

// Conversation is an agent with its model, its tools and what has been said. Turns follow each other.
type Conversation struct {
	*session.Session
	assembly   *Assembly
	agent      *agent.Agent
	transcript *agent.Transcript
	end        func() // ends what was made for its model
}

// SessionDir is where an agent's conversations are kept.
func SessionDir(home, agent string) string { return filepath.Join(home, "sessions", agent) }

// Converse opens a conversation of an agent's, the first one's if none is named. One with a key is kept, and goes on
// where it was left.
func (a *Assembly) Converse(ctx context.Context, agentID, key string, origin session.Origin) (*Conversation, error) {
	s, err := a.OpenSession(agentID, origin)
	if err != nil {
		return nil, err
	}
	return a.converse(ctx, s, key)
}

func (a *Assembly) converse(ctx context.Context, s *session.Session, key string) (*Conversation, error) {
	of, err := a.config.ResolveAgent(s.Policy().Agent())
	if err != nil {
		return nil, err
	}
	c := &Conversation{Session: s, assembly: a, transcript: agent.NewTranscript()}
	if key != "" {
		if c.transcript, err = agent.OpenTranscript(SessionDir(s.Policy().Home(), of.ID), key); err != nil {
			return nil, err
		}
	}
	o, end, err := a.agentOptions(s)
	if err != nil {
		return nil, errors.Join(err, c.transcript.Close())
	}
	c.end = end
	o.Transcript = c.transcript
	source := "startup"
	if len(c.transcript.Messages()) > 0 {
		source = "resume"
	}
	v := a.hooks.HandleEvent(c.inTurn(ctx, nil), s, hooks.EventData{Event: hooks.SessionStart, Source: source})
	if v.Context != "" {
		o.System += "\n\n" + v.Context
	}
	c.agent = agent.New(o)
	return c, nil
}

// agentOptions are what a session's agent works with. end ends what was made for its model.
func (a *Assembly) agentOptions(s *session.Session) (o agent.Options, end func(), err error) {
	of, err := a.config.ResolveAgent(s.Policy().Agent())
	if err != nil {
		return o, nil, err
	}
	m, err := a.modelOf(of)
	if err != nil {
		return o, nil, err
	}
	model, end, err := a.model(m, s)
	if err != nil {
		return o, nil, err
	}
	if a.told != nil {
		by, name, _ := strings.Cut(m.Model, "/")
		model = &tracedModel{model, a.told, by, name}
	}
	if a.hooks.WantsModelMessages() {
		model = &askedModel{model, a.hooks, s}
	}
	system := "You are an agent that works on a person's machine by means of tools.\n\n" + mcp.Instructions(s.Policy())
	if of.Instructions != "" {
		system += "\n\n" + of.Instructions
	}
	return agent.Options{Model: model, Tools: s, System: system, Settings: settings(of, m),
		Inbox: a.team.Inbox(s)}, end, nil
}

// mostKept bounds how often hooks keep an agent going in one turn.
const mostKept = 8

// Turn has the agent answer a text. It ends when the operator stops the agent, and hooks may have it go on or end.
func (c *Conversation) Turn(ctx context.Context, text string, observe func(agent.Event)) (_ *agent.Outcome, err error) {
	ctx, done := c.assembly.WithStop(ctx, c.Policy().Agent())
	defer done()
	ctx, ended := c.assembly.told.TraceTurn(ctx, c.Policy().Agent())
	defer func() { ended(err) }()
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	ctx = c.inTurn(ctx, end)
	v := c.assembly.hooks.HandleEvent(ctx, c.Session, hooks.EventData{Event: hooks.UserPromptSubmit, Prompt: text})
	switch {
	case v.Deny != "":
		return &agent.Outcome{}, fmt.Errorf("%s has refused the prompt: %s", v.Rule, v.Deny)
	case v.Context != "":
		text += "\n\n" + v.Context
	}
	for kept := 0; ; kept++ {
		outcome, err := c.agent.RunTurn(ctx, text, observe)
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		if err != nil || kept == mostKept {
			return outcome, err
		}
		v = c.assembly.hooks.HandleEvent(ctx, c.Session, hooks.EventData{Event: hooks.Stop, Active: kept > 0})
		if v.Deny == "" {
			return outcome, nil
		}
		text = v.Deny
	}
}

// inTurn returns a context whose hooks know of the conversation, and may end it.
func (c *Conversation) inTurn(ctx context.Context, end func(error)) context.Context {
	return hooks.WithTurn(ctx, hooks.Turn{Transcript: c.transcript.Path(), End: end})
}

// Messages are what has been said.
func (c *Conversation) Messages() []agent.Message { return c.transcript.Messages() }

// Close ends the conversation's use.
func (c *Conversation) Close(ctx context.Context, reason string) error {
	c.assembly.hooks.HandleEvent(c.inTurn(ctx, nil), c.Session, hooks.EventData{Event: hooks.SessionEnd, Reason: reason})
	c.assembly.team.EndSession(c.Session)
	c.end()
	return c.transcript.Close()
}

func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
func minutes(n int64) time.Duration { return time.Duration(n) * time.Minute }
