package session

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/picoclaw/picoclaw/host/catalog"
)

// Hooks are asked about calls. They can only take away: what the policy refuses they are not asked about.
type Hooks interface {
	// Before is asked about a call that the policy allows, or would ask a person about.
	Before(ctx context.Context, s *Session, c HookCall) HookVerdict
	// After is told how a call has ended. What it returns goes to the caller beside the result.
	After(ctx context.Context, s *Session, c HookCall, r *Result) string
}

// HookCall is a call as hooks see it.
type HookCall struct {
	Tool string          // full name
	Args json.RawMessage // as they go to the tool
	ID   string          // tells calls apart
}

// HookVerdict is what hooks say of a call. The zero value leaves it as it is.
type HookVerdict struct {
	Deny string          // why it is refused
	Ask  string          // why a person is asked
	Rule string          // which hook says so, such as "hooks.PreToolUse[0]"
	Hint string          // what would change that
	Args json.RawMessage // other arguments, which are decided on anew; nil for none
	Tell string          // what the caller is told beside the result
}

// hookRun asks the hooks about one call, before and after it.
type hookRun struct {
	session *Session
	tool    *catalog.Tool
	id      string
	message string // for the caller, from before the call
}

func (s *Session) newHookRun(t *catalog.Tool) *hookRun {
	h := &hookRun{session: s, tool: t}
	if s.host.hooks != nil {
		h.id = "call_" + strings.ToLower(rand.Text()[:12])
	}
	return h
}

func (h *hookRun) call(args *arguments) HookCall {
	return HookCall{Tool: h.tool.FullName(), Args: args.Canonical, ID: h.id}
}

// before asks the hooks about the call; the zero verdict if there are none.
func (h *hookRun) before(ctx context.Context, args *arguments) HookVerdict {
	if h.session.host.hooks == nil {
		return HookVerdict{}
	}
	v := h.session.host.hooks.Before(ctx, h.session, h.call(args))
	h.message = v.Tell
	return v
}

// after reports the call's result to the hooks and appends their messages to it.
func (h *hookRun) after(ctx context.Context, args *arguments, r *Result) {
	hooks := h.session.host.hooks
	if hooks == nil {
		return
	}
	text := hooks.After(ctx, h.session, h.call(args), r)
	if text = strings.TrimSpace(h.message + "\n" + text); text == "" {
		return
	}
	if r.Text != "" && !strings.HasSuffix(r.Text, "\n") {
		r.Text += "\n"
	}
	r.Text += "[hook] " + text
}
