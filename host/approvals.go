package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/approvals"
	"github.com/picoclaw/picoclaw/host/config"
	"github.com/picoclaw/picoclaw/host/hooks"
	"github.com/picoclaw/picoclaw/host/redact"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/internal/hiddentext"
)

// approvalQueue makes calls wait for approval, and notifies hooks of them.
type approvalQueue struct {
	*approvals.Queue
	origins []string
	hooks   *hooks.Hooks
	log     hclog.Logger
}

// NewApprovalQueue returns the configured approval queue; nil if approvals are disabled. h may be nil.
func NewApprovalQueue(cfg *config.Config, h *hooks.Hooks, log hclog.Logger) session.ApprovalQueue {
	set := cfg.Approvals()
	if set.WaitSeconds == 0 || cfg.Home().Fallback {
		return nil
	}
	return &approvalQueue{approvals.NewQueue(cfg.Home().Path, time.Duration(set.WaitSeconds)*time.Second), set.Origins, h, log}
}

// MustHoldCallsOf reports whether calls of an origin are held for approval.
func (d *approvalQueue) MustHoldCallsOf(o session.Origin) bool {
	return o == session.Program || slices.Contains(d.origins, string(o)) // a run has no other way to ask
}

// WaitForApproval waits until a person approves or denies a call.
func (d *approvalQueue) WaitForApproval(ctx context.Context, s *session.Session, c approvals.Call) (*approvals.Answer, error) {
	return d.WaitForAnswer(ctx, c, func(ctx context.Context, w *approvals.WaitingCall) {
		level := hclog.Warn
		if c.Origin == string(session.Program) {
			level = hclog.Info // the program has the screen; the window's title shows the request
		}
		d.log.Log(level, "approval request: `picoclaw approvals`", "id", w.ID, "tool", w.Tool, "agent", w.Agent)
		d.hooks.HandleEvent(ctx, s, hooks.EventData{Event: hooks.Notification, Kind: "approval",
			Title: fmt.Sprintf("%s of agent %s needs approval", w.Tool, w.Agent),
			Message: hiddentext.Escape(fmt.Sprintf("%s %s\n%s (rule %s)\n`picoclaw approvals allow %s` or deny, until %s",
				w.Tool, redactedArguments(w), w.Reason, w.Rule, w.ID, w.Until.Local().Format(time.DateTime)))})
	})
}

// maxNotifiedBytes limits the arguments in a notification for hooks.
const maxNotifiedBytes = 4096

// redactedArguments returns a waiting call's arguments as text without secrets, shortened.
func redactedArguments(w *approvals.WaitingCall) string {
	var args map[string]any
	if json.Unmarshal(w.Arguments, &args) != nil {
		return ""
	}
	for name, value := range args {
		args[name] = redact.RedactValue(name, value)
	}
	text, _ := json.Marshal(args)
	if len(text) > maxNotifiedBytes {
		return string(text[:maxNotifiedBytes]) + "…"
	}
	return string(text)
}

// hookedModel is a model whose requests and replies pass through hooks.
type hookedModel struct {
	agent.Model
	hooks   *hooks.Hooks
	session *session.Session
}

// hookModelRequest is the part of a request to a model that hooks see and may change.
type hookModelRequest struct {
	System    string          `json:"system,omitempty"`
	Messages  []agent.Message `json:"messages"`
	Tools     []string        `json:"tools,omitempty"` // names; to change them changes nothing
	MaxTokens int             `json:"max_tokens,omitempty"`
}

// Generate lets hooks change the request, sends it, and lets hooks change the reply.
func (m *hookedModel) Generate(ctx context.Context, r agent.ModelRequest, onText func(string)) (*agent.ModelReply, error) {
	seen := hookModelRequest{System: r.System, Messages: r.Messages, MaxTokens: r.MaxTokens}
	for _, t := range r.Tools {
		seen.Tools = append(seen.Tools, t.Name)
	}
	if err := m.runHooks(ctx, hooks.BeforeModel, &seen); err != nil {
		return nil, err
	}
	r.System, r.Messages = seen.System, seen.Messages
	reply, err := m.Model.Generate(ctx, r, onText)
	if err != nil {
		return nil, err
	}
	return reply, m.runHooks(ctx, hooks.AfterModel, &reply.Message)
}

// runHooks runs the hooks for a request or reply, and decodes their changes into it.
func (m *hookedModel) runHooks(ctx context.Context, e hooks.HookEvent, message any) error {
	text, err := json.Marshal(message)
	if err != nil {
		return err
	}
	changed, v := m.hooks.InterceptModel(ctx, m.session, e, text)
	if v.Deny != "" {
		return fmt.Errorf("%s has refused: %s", v.Rule, v.Deny)
	}
	if bytes.Equal(text, changed) {
		return nil
	}
	if err := json.Unmarshal(changed, message); err != nil {
		return fmt.Errorf("a hook changed a message into an invalid one: %w", err)
	}
	return nil
}
