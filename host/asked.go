package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/hooks"
	"github.com/picoclaw/picoclaw/host/session"
)

// askedModel is a model whose requests and answers hooks are asked about.
type askedModel struct {
	agent.Model
	hooks   *hooks.Hooks
	session *session.Session
}

// told is what hooks see of a request, and may change.
type told struct {
	System    string          `json:"system,omitempty"`
	Messages  []agent.Message `json:"messages"`
	Tools     []string        `json:"tools,omitempty"` // names; to change them changes nothing
	MaxTokens int             `json:"max_tokens,omitempty"`
}

// Generate asks the model what hooks have left of the request.
func (m *askedModel) Generate(ctx context.Context, r agent.Request, onText func(string)) (*agent.Reply, error) {
	seen := told{System: r.System, Messages: r.Messages, MaxTokens: r.MaxTokens}
	for _, t := range r.Tools {
		seen.Tools = append(seen.Tools, t.Name)
	}
	if err := pass(ctx, m.session, m.hooks.BeforeModel, &seen); err != nil {
		return nil, err
	}
	r.System, r.Messages = seen.System, seen.Messages
	reply, err := m.Model.Generate(ctx, r, onText)
	if err != nil {
		return nil, err
	}
	return reply, pass(ctx, m.session, m.hooks.AfterModel, &reply.Message)
}

// pass asks hooks about a message, and reads back what they have made of it.
func pass(ctx context.Context, s *session.Session,
	ask func(context.Context, *session.Session, json.RawMessage) (json.RawMessage, hooks.Verdict), message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	changed, v := ask(ctx, s, text)
	if v.Deny != "" {
		return fmt.Errorf("%s has refused: %s", v.Rule, v.Deny)
	}
	if bytes.Equal(text, changed) {
		return nil
	}
	if err := json.Unmarshal(changed, message); err != nil {
		return fmt.Errorf("a hook has made of a message what is none: %w", err)
	}
	return nil
}
