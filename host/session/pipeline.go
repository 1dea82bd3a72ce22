package session

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/halt"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/pausable"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// call is one call on its way through the request pipeline. Each step reads and sets named fields; only the goroutine
// that runs the pipeline uses them.
type call struct {
	session *Session
	ctx     context.Context // steps replace it
	name    string          // of the tool, as the caller wrote it
	raw     json.RawMessage // the arguments, as the caller sent them
	events  func(Event)     // nil if the caller takes none
	began   time.Time
	stop    *stoppable // ends ctx

	runtime     *callRuntime  // set by ready
	tool        *catalog.Tool // set by find, as the next two
	builtin     *BuiltinTool  // nil for a plugin's tool
	hooks       *hookRun
	arguments   *arguments      // set by decode, and by askHooks where a hook changes them
	decision    guard.Decision  // set by decide and askHooks
	deciding    context.Context // of the trace of decide and askHooks
	endDeciding func(error)
	approved    bool             // a person allowed the call; set by awaitApproval
	admitted    context.Context  // set by admit, as the next
	turn        *quota.Slot      // nil for a built-in tool
	spec        *supervise.Spec  // set by start; nil for a built-in tool
	answer      *pluginpb.Result // the plugin's; set by callTool, as the next
	refused     []string         // connections that the network refused during the call
	record      audit.Record     // filled in by every step
}

// Call calls a tool with arguments that are a JSON object, and is the only entry to a tool. events, if not nil, receives
// the tool's progress and output before the result, in order. Every failure is in the result.
func (s *Session) Call(ctx context.Context, tool string, arguments json.RawMessage, events func(Event)) *Result {
	if s.preview {
		return unavailable(errors.New("this session only decides on calls"))
	}
	c := s.newCall(ctx, tool, arguments, events)
	if refused := s.auditRefusal(); refused != nil {
		return refused
	}
	ctx, stop, release := s.host.stoppable(ctx, c.record.Agent)
	defer release()
	ctx, endTrace := s.traceCall(ctx, c.record)
	c.ctx, c.stop = ctx, stop
	result := c.log(c.run())
	endTrace(c.record, result)
	return result
}

func (s *Session) newCall(ctx context.Context, name string, raw json.RawMessage, events func(Event)) *call {
	now := time.Now()
	return &call{session: s, ctx: ctx, name: name, raw: raw, events: events, began: now, record: audit.Record{
		Time: now.UTC(), Agent: s.policy.Agent(), Session: s.id, Parent: s.parent, Origin: string(s.origin), Tool: name,
		Decision: guard.Deny.String(),
	}}
}

// run executes the steps in order, as docs/architecture.md names them. log is not among them: it takes the result of
// every call, whichever step ended it.
func (c *call) run() *Result {
	result := firstResult(c.ready, c.limitRate, c.find, c.decode, c.decide, c.askHooks, c.awaitApproval)
	if result != nil {
		return result
	}
	result = firstResult(c.admit, c.start, c.logBegin, c.callTool, c.limitResult)
	if c.turn != nil {
		c.turn.Release()
	}
	if stopped := stoppedError(c.ctx); stopped != nil && result.Err != nil {
		result.Err = stopped
	}
	c.hooks.after(c.ctx, c.arguments, result)
	return result
}

// firstResult runs steps until one returns a result, which ends the call.
func firstResult(steps ...func() *Result) *Result {
	for _, step := range steps {
		if result := step(); result != nil {
			return result
		}
	}
	return nil
}

// ready makes sure that the host can make calls.
func (c *call) ready() *Result {
	var err error
	if c.runtime, err = c.session.host.ready(); err != nil {
		return unavailable(err)
	}
	return nil
}

// limitRate waits until the agent's calls per minute leave room for one more. It counts unknown and invalid calls too.
func (c *call) limitRate() *Result {
	s := c.session
	queued, endTrace := s.traceQueue(c.ctx, c.events)
	err := s.host.shares.WaitForRate(c.ctx, s.payer.agent, s.payer.limits, s.timeout(), queued)
	endTrace(err)
	if err != nil {
		return c.quotaRefusal(err)
	}
	return nil
}

// find looks the tool up among those enabled for the agent.
func (c *call) find() *Result {
	tool, e := c.session.find(c.name)
	if tool != nil {
		c.record.Tool = tool.FullName()
	}
	if e != nil {
		return &Result{Err: e}
	}
	c.tool, c.builtin, c.hooks = tool, c.session.host.builtinTool(tool), c.session.newHookRun(tool)
	return nil
}

// decode reads the arguments, once for every later step.
func (c *call) decode() *Result {
	args, e := decodeArguments(c.tool, c.raw)
	if e != nil {
		return &Result{Err: e}
	}
	c.arguments = args
	return nil
}

// decide asks the guard about every claim of the call. It sets decision, on which awaitApproval acts.
func (c *call) decide() *Result {
	c.deciding, c.endDeciding = c.session.traceStep(c.ctx, Deciding)
	c.setDecision(c.session.decideClaims(c.tool.Plugin, c.arguments))
	return nil
}

func (c *call) setDecision(d guard.Decision) {
	c.decision = d
	c.record.Args, c.record.Decision, c.record.Rule = c.arguments.Values, d.Verdict.String(), d.Rule
}

// askHooks asks the hooks about a call that is not refused. Arguments that a hook changes are decided on again, once: hooks
// are not asked about the new decision.
func (c *call) askHooks() *Result {
	defer func() { c.endDeciding(nil) }()
	if c.decision.Verdict == guard.Deny {
		return nil
	}
	v := c.hooks.before(c.deciding, c.arguments)
	switch {
	case v.Deny != "":
		c.setDecision(guard.Decision{Verdict: guard.Deny, Rule: v.Rule, Reason: v.Deny, Hint: v.Hint})
		return nil
	case v.Args != nil:
		changed, e := decodeArguments(c.tool, v.Args)
		if e != nil {
			c.setDecision(guard.Decision{Verdict: guard.Deny, Rule: v.Rule,
				Reason: "a hook has changed the arguments to some that the tool does not take: " + e.Message,
				Hint:   cmp.Or(v.Hint, "correct the hook")})
			return nil
		}
		c.arguments = changed
		c.setDecision(c.session.decideClaims(c.tool.Plugin, changed))
	}
	if v.Ask != "" && c.decision.Verdict == guard.Allow {
		c.setDecision(guard.Decision{Verdict: guard.Ask, Rule: v.Rule, Reason: v.Ask, Hint: v.Hint})
	}
	return nil
}

// awaitApproval ends a call that the guard or a hook denied. It asks a person about one that needs approval.
func (c *call) awaitApproval() *Result {
	d := c.decision
	consent := c.session.requestCallApproval(c.ctx, Question{Tool: c.tool.FullName(), Args: c.arguments.Values, Decision: d},
		c.events)
	if d.Verdict == guard.Ask {
		c.record.Answer, c.record.Approval = yesOrNo(consent.allowed), consent.by
		c.approved = consent.allowed
	}
	switch stopped := stoppedError(c.ctx); {
	case stopped != nil:
		return &Result{Err: stopped}
	case consent.allowed:
		return nil
	case d.Verdict == guard.Ask && c.ctx.Err() != nil:
		return &Result{Err: &Error{Code: pluginpb.CodeCancelled, Message: c.tool.Spec.Name + " was cancelled"}}
	}
	refused := &Error{Code: pluginpb.CodeAccessDenied, Message: d.Reason, Rule: d.Rule, Hint: d.Hint}
	if d.Verdict == guard.Ask {
		refused.Hint = consent.refused
	}
	return &Result{Err: refused}
}

// admit waits for a place among the calls of the agent that run at the same time. Built-in tools need none.
func (c *call) admit() *Result {
	c.admitted = c.ctx
	if c.builtin != nil {
		return nil
	}
	s := c.session
	queued, endTrace := s.traceQueue(c.ctx, c.events)
	admitted, turn, err := s.host.shares.Acquire(c.ctx, s.payer.agent, s.payer.limits, s.timeout(), queued)
	endTrace(err)
	if err != nil {
		return c.quotaRefusal(err)
	}
	c.admitted, c.turn = admitted, turn
	return nil
}

// start describes the instance that the call needs; the supervisor starts it on first use.
func (c *call) start() *Result {
	if c.builtin != nil {
		return nil
	}
	var err error
	if c.spec, err = c.session.instanceSpec(c.tool.Plugin); err != nil {
		return unavailable(err)
	}
	if c.spec.Policy.Grants.Exec {
		c.stop.commands.Store(true)
		if err := halt.LowSpace(c.session.policy.Home()); err != nil {
			return &Result{Err: spaceError(err)}
		}
	}
	return nil
}

// logBegin writes the entry of the call's begin, without which the call has no effect.
func (c *call) logBegin() *Result {
	c.record.Call = fmt.Sprintf("%s-%d", c.session.id, c.session.calls.Add(1))
	c.record = c.record.Kept()
	begin := c.record
	begin.State, begin.Millis = audit.Begun, milliseconds(time.Since(c.began))
	return c.session.writeBegin(c.runtime.audit, begin)
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// callTool has the instance, or the host itself for a built-in tool, run the tool.
func (c *call) callTool() *Result {
	s := c.session
	if c.builtin != nil {
		return c.builtin.Call(c.admitted, s, c.arguments.Canonical, c.events)
	}
	ctx, cancel := pausable.WithTimeout(c.admitted, s.timeout())
	defer cancel()
	network := s.network(c.tool.Plugin)
	connections := network.watchCall(ctx, s, c.arguments.Canonical)
	request := &pluginpb.CallRequest{Tool: c.tool.Spec.Name, Arguments: c.arguments.Canonical, CallId: s.id,
		Agreed: c.approved}
	started, endTrace := s.tracePluginCall(ctx, request)
	outcome, err := c.runtime.supervisor.Call(ctx, c.spec, request, supervise.CallListener{
		Ready: started, Event: translate(s.countOutput(c.admitted, c.events)), Answer: answers(ctx, c.tool.FullName()),
	})
	endTrace(err)
	c.refused = network.endWatch(connections)
	if err != nil {
		return s.callFailure(ctx, c.tool, err)
	}
	c.answer = outcome.Result
	return nil
}

// limitResult makes the result of the plugin's answer, if that is within the agent's limits.
func (c *call) limitResult() *Result {
	s := c.session
	result := s.resultOf(c.tool, c.answer)
	result.undo = undoID(c.spec.Policy, c.answer)
	if result.Err != nil && result.Err.Code == pluginpb.CodeWithdrawn {
		s.quarantineTool(c.tool, result.Err.Message)
	}
	result.addRefused(c.refused)
	s.host.shares.CountOutput(s.payer.agent, s.payer.limits, result.size())
	return result
}

// log completes the record of the call and writes it to the audit log. It returns the result, or an error in its place
// when the record could not be written.
func (c *call) log(result *Result) *Result {
	result.Duration = time.Since(c.began)
	r := &c.record
	r.Millis = milliseconds(result.Duration)
	r.Bytes, r.Undo = result.size(), result.undo
	if result.Err != nil {
		r.Error = result.Err.Message
		// A layer behind the guard names its own rule.
		if r.Rule == "" || result.Err.Rule != "" && r.Decision == guard.Allow.String() {
			r.Rule = result.Err.Rule
		}
	}
	return c.session.writeRecord(*r, result)
}
