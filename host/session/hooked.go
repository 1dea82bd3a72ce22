package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/sdk/guard"
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

// hooked is one call's way past the hooks.
type hooked struct {
	session *Session
	tool    *catalog.Tool
	id      string
	told    string // what was to be said before the call
}

func (s *Session) hooked(t *catalog.Tool) *hooked {
	h := &hooked{session: s, tool: t}
	if s.host.hooks != nil {
		h.id = "call_" + strings.ToLower(rand.Text()[:12])
	}
	return h
}

func (h *hooked) call(args *arguments) HookCall {
	return HookCall{Tool: h.tool.FullName(), Args: args.Canonical, ID: h.id}
}

// before returns the arguments and the decision after the hooks have been asked.
func (h *hooked) before(ctx context.Context, args *arguments, d guard.Decision) (*arguments, guard.Decision) {
	hooks := h.session.host.hooks
	if hooks == nil || d.Verdict == guard.Deny {
		return args, d
	}
	v := hooks.Before(ctx, h.session, h.call(args))
	h.told = v.Tell
	if v.Deny != "" {
		return args, guard.Decision{Verdict: guard.Deny, Rule: v.Rule, Reason: v.Deny, Hint: v.Hint}
	}
	if v.Args != nil {
		_, other, e := h.session.read(h.tool.FullName(), v.Args)
		if e != nil {
			return args, guard.Decision{Verdict: guard.Deny, Rule: v.Rule,
				Reason: "a hook has changed the arguments to some that the tool does not take: " + e.Message,
				Hint:   cmp.Or(v.Hint, "correct the hook")}
		}
		args, d = other, h.session.decide(h.tool.Plugin, other)
	}
	if v.Ask != "" && d.Verdict == guard.Allow {
		d = guard.Decision{Verdict: guard.Ask, Rule: v.Rule, Reason: v.Ask, Hint: v.Hint}
	}
	return args, d
}

// after tells the hooks how the call has ended, and adds what they say to its result.
func (h *hooked) after(ctx context.Context, args *arguments, r *Result) {
	hooks := h.session.host.hooks
	if hooks == nil {
		return
	}
	text := hooks.After(ctx, h.session, h.call(args), r)
	if text = strings.TrimSpace(h.told + "\n" + text); text == "" {
		return
	}
	if r.Text != "" && !strings.HasSuffix(r.Text, "\n") {
		r.Text += "\n"
	}
	r.Text += "[hook] " + text
}
