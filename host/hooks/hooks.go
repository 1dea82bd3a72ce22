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

// asker is one hook: a command that is run for each question, or a process that lives on.
type asker interface {
	// ask returns what the hook says. An error says that it has said nothing, and why: "did not end within 5s".
	ask(context.Context, question) (answer, error)
	String() string // what it is, for messages
}

// Hooks are an operator's hooks. A nil one has none. It may be used concurrently.
type Hooks struct {
	log       hclog.Logger
	open      bool // hooks without an answer let things go on
	groups    map[Event][]*group
	processes []*process // in the order in which they are asked
	typed     typedLines
}

// group are hooks of the settings with their matcher.
type group struct {
	key     string // hooks.PreToolUse[0]
	matcher *matcher
	hooks   []Hook
}

// New makes hooks of an operator's settings, and starts nothing. It is nil if there are none.
func New(o Options, log hclog.Logger) (*Hooks, error) {
	if mistakes := Check(o); len(mistakes) > 0 {
		var all []error
		for _, m := range mistakes {
			all = append(all, m)
		}
		return nil, errors.Join(all...)
	}
	if o.Enabled != nil && !*o.Enabled {
		return nil, nil
	}
	if log == nil {
		log = hclog.NewNullLogger()
	}
	h := &Hooks{log: log, open: o.OnError == "open", groups: map[Event][]*group{}}
	for e, groups := range o.events() {
		for i, g := range groups {
			m, err := newMatcher(g.Matcher)
			if err != nil {
				return nil, err
			}
			h.groups[e] = append(h.groups[e], &group{fmt.Sprintf("hooks.%s[%d]", e, i), m, g.Hooks})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(o.Processes)) {
		if p := o.Processes[name]; p.Enabled == nil || *p.Enabled {
			h.processes = append(h.processes, newProcess(name, p, o.Defaults, log))
		}
	}
	slices.SortStableFunc(h.processes, func(a, b *process) int { return cmp.Compare(a.o.Priority, b.o.Priority) })
	if len(h.groups) == 0 && len(h.processes) == 0 {
		return nil, nil
	}
	return h, nil
}

// Close ends the processes.
func (h *Hooks) Close(ctx context.Context) {
	if h == nil {
		return
	}
	var wait sync.WaitGroup
	for _, p := range h.processes {
		wait.Go(func() { p.close(ctx) })
	}
	wait.Wait()
}

var _ session.Hooks = (*Hooks)(nil)

// Before asks about a call that the policy has allowed, or about which it would ask a person.
func (h *Hooks) Before(ctx context.Context, s *session.Session, c session.HookCall) session.HookVerdict {
	if h == nil {
		return session.HookVerdict{}
	}
	v := h.before(ctx, of(ctx, s), c)
	v.Tell = v.Context
	v.end(ctx)
	return v.HookVerdict
}

// before asks about a call, and about the text that it types into a command.
func (h *Hooks) before(ctx context.Context, w where, c session.HookCall) Verdict {
	q := question{event: PreToolUse, where: w, call: c}
	v := h.ask(ctx, q)
	if v.Args != nil {
		q.call.Args = v.Args
	}
	if v.Deny == "" {
		v = v.and(h.askTyped(ctx, w, q.call))
	}
	if v.Deny != "" {
		v.Args = nil
		h.observe(w, "agent.tool.exec_skipped", map[string]any{"Tool": plainName(c.Tool), "Reason": v.Deny})
	} else {
		h.observe(w, "agent.tool.exec_start", map[string]any{"Tool": plainName(c.Tool), "Arguments": q.call.Args})
	}
	return v
}

// ask asks the processes one after another, each about what the ones before have made of the arguments; then the hooks
// of the settings, all at once; then the processes that approve.
func (h *Hooks) ask(ctx context.Context, q question) Verdict {
	v := h.inTurn(ctx, "before_tool", &q)
	if v.Deny == "" {
		v = v.and(h.together(ctx, q))
	}
	if v.Args != nil {
		q.call.Args = v.Args
	}
	if v.Deny == "" {
		v = v.and(h.inTurn(ctx, "approve_tool", &q))
	}
	return v
}

// After tells of a call that was made. What it returns is for the model to read.
func (h *Hooks) After(ctx context.Context, s *session.Session, c session.HookCall, r *session.Result) string {
	if h == nil {
		return ""
	}
	return h.after(ctx, of(ctx, s), c, r)
}

func (h *Hooks) after(ctx context.Context, w where, c session.HookCall, r *session.Result) string {
	h.noteTyped(w, c, r)
	q := question{event: PostToolUse, where: w, call: c, result: r}
	v := h.inTurn(ctx, "after_tool", &q)
	if r.Err == nil { // as with Claude Code
		v = v.and(h.together(ctx, q))
	}
	v.end(ctx)
	h.observe(w, "agent.tool.exec_end", map[string]any{"Tool": plainName(c.Tool), "IsError": r.Err != nil})
	return joined(v.Deny, v.Context)
}

// On asks about what is no call.
func (h *Hooks) On(ctx context.Context, s *session.Session, o Occasion) Verdict {
	if h == nil {
		return Verdict{}
	}
	return h.on(ctx, of(ctx, s), o)
}

func (h *Hooks) on(ctx context.Context, w where, o Occasion) Verdict {
	v := h.together(ctx, question{event: o.Event, where: w, occasion: o})
	if v.Stop && (o.Event == Stop || o.Event == SubagentStop) {
		v.Deny = "" // it may stop
	}
	h.observe(w, kinds[o.Event], map[string]any{"Reason": o.Reason, "Source": o.Source})
	return v
}

// AskAboutModels reports whether a process is asked about, or told of, what goes to models and comes from them.
func (h *Hooks) AskAboutModels() bool {
	return h != nil && slices.ContainsFunc(h.processes, func(p *process) bool {
		return slices.Contains(p.o.Intercept, string(beforeModel)) || slices.Contains(p.o.Intercept, string(afterModel)) ||
			slices.Contains(p.o.Observe, kinds[beforeModel]) || slices.Contains(p.o.Observe, kinds[afterModel]) ||
			slices.Contains(p.o.Observe, "*")
	})
}

// BeforeModel asks processes about a request to a model, a JSON object in the form of whoever makes it, and returns
// what they make of it.
func (h *Hooks) BeforeModel(ctx context.Context, s *session.Session, request json.RawMessage) (json.RawMessage, Verdict) {
	if h == nil {
		return request, Verdict{}
	}
	return h.model(ctx, of(ctx, s), beforeModel, request)
}

// AfterModel asks processes about a model's response.
func (h *Hooks) AfterModel(ctx context.Context, s *session.Session, response json.RawMessage) (json.RawMessage, Verdict) {
	if h == nil {
		return response, Verdict{}
	}
	return h.model(ctx, of(ctx, s), afterModel, response)
}

func (h *Hooks) model(ctx context.Context, w where, e Event, message json.RawMessage) (json.RawMessage, Verdict) {
	q := question{event: e, where: w, model: message}
	v := h.inTurn(ctx, string(e), &q)
	v.Args = nil
	h.observe(w, kinds[e], nil)
	return q.model, v
}

// inTurn asks the processes that intercept a point, one after another, and has each asked about what those before it
// have changed.
func (h *Hooks) inTurn(ctx context.Context, point string, q *question) Verdict {
	var v Verdict
	for _, p := range h.processes {
		if !slices.Contains(p.o.Intercept, point) {
			continue
		}
		a := h.one(ctx, &asked{asker: &interceptor{p, point}, key: p.key}, *q)
		v = v.and(a.verdict(p.key))
		if v.Deny != "" {
			return v
		}
		if a.args != nil && q.model != nil {
			q.model = a.args
		} else if a.args != nil {
			q.call.Args = a.args
		}
	}
	return v
}

// asked is a hook with what it has said.
type asked struct {
	asker
	key    string // of its group, or its own
	closed bool   // it refuses without an answer, whatever the others do
	answer answer
}

// together asks the hooks of the settings that match, all at once; the same command is run once.
func (h *Hooks) together(ctx context.Context, q question) Verdict {
	var all []*asked
	seen := map[string]bool{}
	for _, g := range h.groups[q.event] {
		f, matches := g.form(q)
		if !matches {
			continue
		}
		for _, hook := range g.hooks {
			id := string(encode(hook))
			if f != nil {
				id += f.name
			}
			if !seen[id] {
				seen[id] = true
				all = append(all, &asked{asker: &command{hook, f}, key: g.key, closed: hook.OnFailure == "block"})
			}
		}
	}
	var wait sync.WaitGroup
	for _, one := range all {
		wait.Go(func() { one.answer = h.one(ctx, one, q) })
	}
	wait.Wait()
	return verdict(all)
}

// form reports whether a group is asked, and in which form a call is shown to its hooks.
func (g *group) form(q question) (*form, bool) {
	switch q.event {
	case PreToolUse, PostToolUse:
		f := g.matcher.form(q.call.Tool)
		return f, f != nil
	case SessionStart:
		return nil, g.matcher.matches(q.occasion.Source)
	case SessionEnd:
		return nil, g.matcher.matches(q.occasion.Reason)
	case SubagentStop:
		return nil, g.matcher.matches(q.occasion.AgentType)
	case Notification:
		return nil, g.matcher.matches(q.occasion.Kind)
	}
	return nil, true
}

// one asks one hook, and decides what it means that it says nothing.
func (h *Hooks) one(ctx context.Context, a *asked, q question) answer {
	said, err := a.ask(ctx, q)
	if err == nil {
		said.reason = reason([]byte(said.reason))
		if said.decision > none && said.reason == "" {
			said.reason = "it gave no reason"
		}
		return said
	}
	h.log.Warn("a hook has not answered", "hook", a.key, "what", a.String(), "event", q.event, "error", err)
	switch {
	case !q.event.gates():
		return answer{}
	case ctx.Err() != nil:
		return answer{decision: deny, reason: fmt.Sprintf("the hook %s was not waited for: %v", a.key, ctx.Err())}
	case h.open && !a.closed:
		return answer{}
	}
	return answer{
		decision: deny, reason: fmt.Sprintf("the hook %s (%s) %v, and without its answer this is refused", a.key, a, err),
		hint: `correct the hook; hooks.on_error: "open" goes on without answers`,
	}
}

// verdict is the strictest of what hooks have said at once; of several, the first in the settings.
func verdict(all []*asked) Verdict {
	var v Verdict
	var changed *asked
	for _, one := range all {
		next := one.answer.verdict(one.key)
		if next.Args != nil && changed != nil && !equal(next.Args, v.Args) {
			return Verdict{HookVerdict: session.HookVerdict{Rule: one.key, Deny: fmt.Sprintf("the hooks %s and %s change the "+
				"arguments in two ways, and only one can be", changed.key, one.key)}}
		}
		if next.Args != nil {
			changed = one
		}
		v = v.and(next)
	}
	return v
}

func (a answer) verdict(key string) Verdict {
	v := Verdict{HookVerdict: session.HookVerdict{Args: a.args, Hint: a.hint}, Context: a.context, Stop: a.stop}
	switch a.decision {
	case deny:
		v.Deny, v.Rule = a.reason, key
	case ask:
		v.Ask, v.Rule = a.reason, key
	}
	return v
}

// and is the stricter of two verdicts, the first if they are as strict.
func (v Verdict) and(next Verdict) Verdict {
	if v.Deny == "" && (next.Deny != "" || v.Ask == "") {
		v.Deny, v.Ask, v.Rule, v.Hint = next.Deny, next.Ask, next.Rule, next.Hint
	}
	if next.Args != nil {
		v.Args = next.Args
	}
	v.Context = joined(v.Context, next.Context)
	v.Stop = v.Stop || next.Stop
	return v
}

func joined(a, b string) string { return strings.TrimSpace(a + "\n" + b) }
