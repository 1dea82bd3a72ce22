package hooks

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/picoclaw/picoclaw/host/session"
)

// hookRunner is one hook: a command that runs for each event, or a long-running process.
type hookRunner interface {
	// respond returns the hook's response. An error says why there is none, as "did not end within 5s".
	respond(context.Context, hookRequest) (hookResponse, error)
	String() string // describes the hook in messages
}

// Hooks holds an operator's hooks. It is safe for concurrent use. A nil Hooks runs nothing.
type Hooks struct {
	log        hclog.Logger
	failOpen   bool // hooks without a response do not block the event
	groups     map[HookEvent][]*compiledHookGroup
	processes  []*processHook // sorted by priority
	unfinished unfinishedInputLines
}

// compiledHookGroup is a group of command hooks with their parsed matcher.
type compiledHookGroup struct {
	key     string // as "hooks.PreToolUse[0]"
	matcher *nameMatcher
	hooks   []CommandHookOptions
}

// NewHooks returns the hooks in an operator's options; nil if there are none. It starts no process.
func NewHooks(o HookOptions, log hclog.Logger) (*Hooks, error) {
	if mistakes := CheckOptions(o); len(mistakes) > 0 {
		var all []error
		for _, mistake := range mistakes {
			all = append(all, mistake)
		}
		return nil, errors.Join(all...)
	}
	if o.Enabled != nil && !*o.Enabled {
		return nil, nil
	}
	log = cmp.Or(log, hclog.NewNullLogger())
	h := &Hooks{log: log, failOpen: o.OnError == "open", groups: map[HookEvent][]*compiledHookGroup{},
		unfinished: unfinishedInputLines{text: map[unfinishedInputKey]string{}}}
	for e, groups := range o.groupsByEvent() {
		for i, g := range groups {
			match, err := newNameMatcher(g.Matcher)
			if err != nil {
				return nil, err
			}
			h.groups[e] = append(h.groups[e], &compiledHookGroup{fmt.Sprintf("hooks.%s[%d]", e, i), match, g.Hooks})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Processes)) {
		if p := o.Processes[name]; p.Enabled == nil || *p.Enabled {
			h.processes = append(h.processes, newProcessHook(name, p, o.Defaults, log))
		}
	}
	slices.SortStableFunc(h.processes, func(a, b *processHook) int { return cmp.Compare(a.options.Priority, b.options.Priority) })
	if len(h.groups) == 0 && len(h.processes) == 0 {
		return nil, nil
	}
	return h, nil
}

// Close stops the process hooks.
func (h *Hooks) Close(ctx context.Context) {
	if h == nil {
		return
	}
	var wait sync.WaitGroup
	for _, p := range h.processes {
		wait.Go(func() { p.stopChildren(ctx) })
	}
	wait.Wait()
}

var _ session.Hooks = (*Hooks)(nil)

// Before runs hooks before a call that the policy allows or wants approved.
func (h *Hooks) Before(ctx context.Context, s *session.Session, c session.HookedCall) session.HookVerdict {
	if h == nil {
		return session.HookVerdict{}
	}
	v := h.runBeforeCall(ctx, sessionInfoOf(ctx, s), c)
	v.Message = v.Context
	v.endTurnOnStop(ctx)
	return v.HookVerdict
}

// runBeforeCall runs PreToolUse hooks for a call and for the text that it types into a command.
func (h *Hooks) runBeforeCall(ctx context.Context, w sessionInfo, c session.HookedCall) EventVerdict {
	q := hookRequest{event: PreToolUse, sessionInfo: w, call: c}
	v := h.runPreToolUse(ctx, q)
	if v.Args != nil {
		q.call.Args = v.Args
	}
	if v.Deny == "" {
		v = v.mergeWith(h.runHooksForTypedText(ctx, w, q.call))
	}
	if v.Deny != "" {
		v.Args = nil
		h.publishEvent(w, "agent.tool.exec_skipped", map[string]any{"Tool": upstreamToolName(c.Tool), "Reason": v.Deny})
	} else {
		h.publishEvent(w, "agent.tool.exec_start", map[string]any{"Tool": upstreamToolName(c.Tool), "Arguments": q.call.Args})
	}
	return v
}

// runPreToolUse runs the hooks before a call in three stages: the intercepting processes in order, all command hooks
// concurrently, and the approving processes. Each stage gets the arguments that the previous stage changed.
func (h *Hooks) runPreToolUse(ctx context.Context, q hookRequest) EventVerdict {
	v := h.runInterceptors(ctx, "before_tool", &q)
	if v.Deny == "" {
		v = v.mergeWith(h.runCommands(ctx, q))
	}
	if v.Args != nil {
		q.call.Args = v.Args
	}
	if v.Deny == "" {
		v = v.mergeWith(h.runInterceptors(ctx, "approve_tool", &q))
	}
	return v
}

// After runs hooks after a call and returns their text for the model.
func (h *Hooks) After(ctx context.Context, s *session.Session, c session.HookedCall, r *session.Result) string {
	if h == nil {
		return ""
	}
	return h.runAfterCall(ctx, sessionInfoOf(ctx, s), c, r)
}

// runAfterCall runs PostToolUse hooks and joins their texts for the model.
func (h *Hooks) runAfterCall(ctx context.Context, w sessionInfo, c session.HookedCall, r *session.Result) string {
	h.storeUnfinishedLine(w, c, r)
	q := hookRequest{event: PostToolUse, sessionInfo: w, call: c, result: r}
	v := h.runInterceptors(ctx, "after_tool", &q)
	if r.Err == nil { // Claude Code runs no PostToolUse hook after a failed call either
		v = v.mergeWith(h.runCommands(ctx, q))
	}
	v.endTurnOnStop(ctx)
	h.publishEvent(w, "agent.tool.exec_end", map[string]any{"Tool": upstreamToolName(c.Tool), "IsError": r.Err != nil})
	return joinLines(v.Deny, v.Context)
}

// HandleEvent runs the hooks of an event other than a tool call.
func (h *Hooks) HandleEvent(ctx context.Context, s *session.Session, o EventData) EventVerdict {
	if h == nil {
		return EventVerdict{}
	}
	return h.runEvent(ctx, sessionInfoOf(ctx, s), o)
}

// runEvent runs the command hooks of an event, and publishes the event to observing processes.
func (h *Hooks) runEvent(ctx context.Context, w sessionInfo, o EventData) EventVerdict {
	v := h.runCommands(ctx, hookRequest{event: o.Event, sessionInfo: w, data: o})
	if v.Stop && (o.Event == Stop || o.Event == SubagentStop) {
		v.Deny = "" // the agent may stop
	}
	h.publishEvent(w, eventKinds[o.Event], map[string]any{"Reason": o.Reason, "Source": o.Source})
	return v
}

// WantsModelMessages reports whether a process intercepts or observes requests to models or their responses.
func (h *Hooks) WantsModelMessages() bool {
	return h != nil && slices.ContainsFunc(h.processes, func(p *processHook) bool {
		return slices.Contains(p.options.Intercept, string(BeforeModel)) || slices.Contains(p.options.Intercept, string(AfterModel)) ||
			slices.Contains(p.options.Observe, eventKinds[BeforeModel]) || slices.Contains(p.options.Observe, eventKinds[AfterModel]) ||
			slices.Contains(p.options.Observe, "*")
	})
}

// InterceptModel passes a request to a model (BeforeModel) or its response (AfterModel) through the intercepting
// processes and returns the changed message. The message is JSON in the format of the model's API.
func (h *Hooks) InterceptModel(ctx context.Context, s *session.Session, e HookEvent,
	message json.RawMessage) (json.RawMessage, EventVerdict) {
	if h == nil {
		return message, EventVerdict{}
	}
	return h.interceptModel(ctx, sessionInfoOf(ctx, s), e, message)
}

// interceptModel passes a model message through the intercepting processes and publishes the event to observers.
func (h *Hooks) interceptModel(ctx context.Context, w sessionInfo, e HookEvent, message json.RawMessage) (json.RawMessage, EventVerdict) {
	q := hookRequest{event: e, sessionInfo: w, modelMessage: message}
	v := h.runInterceptors(ctx, string(e), &q)
	v.Args = nil
	h.publishEvent(w, eventKinds[e], nil)
	return q.modelMessage, v
}

// runInterceptors runs the processes that intercept a point, one after another. Each gets the message with the changes
// of the previous ones, in q. A refusal ends the loop.
func (h *Hooks) runInterceptors(ctx context.Context, point string, q *hookRequest) EventVerdict {
	var v EventVerdict
	for _, p := range h.processes {
		if !slices.Contains(p.options.Intercept, point) {
			continue
		}
		a := h.runHookOrRefuse(ctx, &hookRun{hookRunner: &interceptor{p, point}, key: p.key}, *q)
		v = v.mergeWith(a.toVerdict(p.key))
		if v.Deny != "" {
			return v
		}
		if a.args != nil && q.modelMessage != nil {
			q.modelMessage = a.args
		} else if a.args != nil {
			q.call.Args = a.args
		}
	}
	return v
}

// hookRun is one run of a hook for an event, with its response.
type hookRun struct {
	hookRunner
	key        string // key of the group or of the process
	failClosed bool   // a failure refuses, regardless of hooks.on_error
	response   hookResponse
}

// runCommands concurrently runs all command hooks that match an event. It runs equal commands only once.
func (h *Hooks) runCommands(ctx context.Context, q hookRequest) EventVerdict {
	var runs []*hookRun
	seen := map[string]bool{}
	for _, g := range h.groups[q.event] {
		f, matches := g.matchRequest(q)
		if !matches {
			continue
		}
		for _, hook := range g.hooks {
			id := string(encodeJSON(hook))
			if f != nil {
				id += f.name
			}
			if !seen[id] {
				seen[id] = true
				runs = append(runs, &hookRun{hookRunner: &commandHookRunner{hook, f}, key: g.key, failClosed: hook.OnFailure == "block"})
			}
		}
	}
	var wait sync.WaitGroup
	for _, run := range runs {
		wait.Go(func() { run.response = h.runHookOrRefuse(ctx, run, q) })
	}
	wait.Wait()
	return mergeHookRuns(runs)
}

// matchRequest reports whether a group matches a request. For a tool call, it returns the alias under which the group's
// hooks see the tool.
func (g *compiledHookGroup) matchRequest(q hookRequest) (*toolAlias, bool) {
	switch q.event {
	case PreToolUse, PostToolUse:
		f := g.matcher.firstAlias(q.call.Tool)
		return f, f != nil
	case SessionStart:
		return nil, g.matcher.matchesName(q.data.Source)
	case SessionEnd:
		return nil, g.matcher.matchesName(q.data.Reason)
	case SubagentStop:
		return nil, g.matcher.matchesName(q.data.AgentType)
	case Notification:
		return nil, g.matcher.matchesName(q.data.Kind)
	}
	return nil, true
}

// runHookOrRefuse runs one hook. A failed hook refuses the event, unless the event can't be refused or hooks.on_error is
// open.
func (h *Hooks) runHookOrRefuse(ctx context.Context, a *hookRun, q hookRequest) hookResponse {
	response, err := a.respond(ctx, q)
	if err == nil {
		response.reason = printablePrefix([]byte(response.reason))
		if response.decision > none && response.reason == "" {
			response.reason = "it gave no reason"
		}
		return response
	}
	h.log.Warn("a hook failed", "hook", a.key, "what", a.String(), "event", q.event, "error", err)
	switch {
	case !q.event.hooksCanRefuse():
		return hookResponse{}
	case ctx.Err() != nil:
		return hookResponse{decision: deny, reason: fmt.Sprintf("the hook %s was not waited for: %v", a.key, ctx.Err())}
	case h.failOpen && !a.failClosed:
		return hookResponse{}
	}
	return hookResponse{
		decision: deny, reason: fmt.Sprintf("the hook %s (%s) %v; without its response, the event is refused", a.key, a, err),
		hint: `fix the hook, or set hooks.on_error to "open" to continue without responses`,
	}
}

// mergeHookRuns returns the strictest verdict of hooks that ran concurrently, or the first of equally strict ones in
// the order of the settings. It refuses if hooks change the arguments differently.
func mergeHookRuns(runs []*hookRun) EventVerdict {
	var v EventVerdict
	var changed *hookRun
	for _, run := range runs {
		next := run.response.toVerdict(run.key)
		if next.Args != nil && changed != nil && !equalJSON(next.Args, v.Args) {
			return EventVerdict{HookVerdict: session.HookVerdict{Rule: run.key, Deny: fmt.Sprintf("the hooks %s and %s change the "+
				"arguments in two ways, and only one can be", changed.key, run.key)}}
		}
		if next.Args != nil {
			changed = run
		}
		v = v.mergeWith(next)
	}
	return v
}

// toVerdict converts a hook's response to a verdict. key becomes the rule of a refusal.
func (a hookResponse) toVerdict(key string) EventVerdict {
	v := EventVerdict{HookVerdict: session.HookVerdict{Args: a.args, Hint: a.hint}, Context: a.context, Stop: a.stop}
	switch a.decision {
	case deny:
		v.Deny, v.Rule = a.reason, key
	case ask:
		v.Ask, v.Rule = a.reason, key
	}
	return v
}

// mergeWith returns the stricter verdict, else v, with the changes and texts of both.
func (v EventVerdict) mergeWith(next EventVerdict) EventVerdict {
	if v.Deny == "" && (next.Deny != "" || v.Ask == "") {
		v.Deny, v.Ask, v.Rule, v.Hint = next.Deny, next.Ask, next.Rule, next.Hint
	}
	if next.Args != nil {
		v.Args = next.Args
	}
	v.Context = joinLines(v.Context, next.Context)
	v.Stop = v.Stop || next.Stop
	return v
}

func joinLines(a, b string) string { return strings.TrimSpace(a + "\n" + b) }
