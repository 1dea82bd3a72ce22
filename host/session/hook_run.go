package session

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"strings"

	"github.com/picoclaw/picoclaw/host/catalog"
)

// Hooks run before and after calls. They can only restrict: a call that the policy refuses never reaches them.
type Hooks interface {
	// Before runs before a call that the policy allows or wants approved.
	Before(ctx context.Context, s *Session, c HookedCall) HookVerdict
	// After runs after a call. Its text is appended to the caller's result.
	After(ctx context.Context, s *Session, c HookedCall, r *Result) string
}

// HookedCall describes a tool call to hooks.
type HookedCall struct {
	Tool string          // full name
	Args json.RawMessage // as passed to the tool
	ID   string          // unique per call
}

// HookVerdict is the merged decision of the hooks before a call. The zero value changes nothing.
type HookVerdict struct {
	Deny    string          // reason to refuse the call
	Ask     string          // reason to ask for approval
	Rule    string          // deciding hook, for example "hooks.PreToolUse[0]"
	Hint    string          // how to avoid the refusal
	Args    json.RawMessage // changed arguments, decided on again; nil for none
	Message string          // shown to the caller with the result
}

// callHookRunner runs the hooks before and after one call, and keeps their message for the caller.
type callHookRunner struct {
	session *Session
	tool    *catalog.Tool
	id      string
	message string // for the caller, from the hooks before the call
}

func (s *Session) newCallHookRunner(t *catalog.Tool) *callHookRunner {
	h := &callHookRunner{session: s, tool: t}
	if s.host.hooks != nil {
		h.id = "call_" + strings.ToLower(rand.Text()[:12])
	}
	return h
}

func (h *callHookRunner) newHookCall(args *callArguments) HookedCall {
	return HookedCall{Tool: h.tool.FullName(), Args: args.Canonical, ID: h.id}
}

// runBefore runs the hooks before the call. Without hooks, it returns the zero verdict.
func (h *callHookRunner) runBefore(ctx context.Context, args *callArguments) HookVerdict {
	if h.session.host.hooks == nil {
		return HookVerdict{}
	}
	v := h.session.host.hooks.Before(ctx, h.session, h.newHookCall(args))
	h.message = v.Message
	return v
}

// runAfter passes the call's result to the hooks and appends their messages to it.
func (h *callHookRunner) runAfter(ctx context.Context, args *callArguments, r *Result) {
	hooks := h.session.host.hooks
	if hooks == nil {
		return
	}
	text := hooks.After(ctx, h.session, h.newHookCall(args), r)
	if text = strings.TrimSpace(h.message + "\n" + text); text == "" {
		return
	}
	r.addHostNote("[hook] " + text)
}
