package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/killswitch"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/pausable"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// call is one call in the request pipeline. Each step reads and sets named fields, always in the same goroutine.
type call struct {
	session *Session
	ctx     context.Context // replaced by some steps
	name    string          // tool name from the caller
	raw     json.RawMessage // arguments from the caller, until decodeArguments
	events  func(CallEvent) // may be nil
	began   time.Time
	maxWait time.Duration  // rest of the timeout that the call may wait for a slot; set by limitRate
	work    *stoppableWork // cancels ctx

	runtime     *callDependencies // set by prepareHost
	tool        *catalog.Tool     // set by findTool, with builtin
	builtin     *BuiltinTool      // nil for a plugin's tool
	hookID      string            // set by runBeforeHooks, with hookMessage for the caller
	hookMessage string
	arguments   *callArguments  // set by decodeArguments, and by applyBeforeHooks if a hook changes them
	decision    guard.Decision  // set by decideByGuard and applyBeforeHooks
	decidingCtx context.Context // trace of decideByGuard and applyBeforeHooks
	endDeciding func(error)
	approved    bool                    // a person approved the call; set by awaitApproval
	admittedCtx context.Context         // set by admitCall, with slot
	slot        *quota.CallSlot         // nil for a built-in tool
	spec        *supervise.InstanceSpec // set by prepareInstance; nil for a built-in tool
	answer      *pluginpb.Result        // the plugin's; set by callTool, with refused
	refused     []string                // refused connections
	record      audit.Record            // filled in by each step
	ran         bool                    // logBegin let the call run
}

// Call calls a tool with arguments in a JSON object. It is the only way to call tools. events, if not nil, receives
// progress and output in order, before the result. All failures are in the result.
func (s *Session) Call(ctx context.Context, tool string, arguments json.RawMessage, events func(CallEvent)) *Result {
	if s.preview {
		return pluginUnavailableResult(errors.New("this session only decides on calls"))
	}
	c := s.newCall(ctx, tool, arguments, events)
	if refused := s.refusalIfAuditUnwritable(); refused != nil {
		return refused
	}
	ctx, stop, release := s.host.registerWork(ctx, c.record.Agent)
	defer release()
	ctx, endTrace := s.traceCall(ctx, c.record)
	c.ctx, c.work = ctx, stop
	result := c.runSteps()
	if c.arguments != nil {
		for _, conversion := range c.arguments.Conversions { // to the schema's form
			result.addHostNote("[" + conversion + "]")
		}
	}
	result = c.logEnd(result)
	endTrace(c.record, result)
	return result
}

func (s *Session) newCall(ctx context.Context, name string, raw json.RawMessage, events func(CallEvent)) *call {
	now := time.Now()
	return &call{session: s, ctx: ctx, name: name, raw: raw, events: events, began: now, record: audit.Record{
		Time: now.UTC(), Agent: s.policy.AgentID(), Session: s.id, Parent: s.parent, Origin: string(s.origin), Tool: name,
		Decision: guard.Deny.String(),
	}}
}

// runSteps runs the steps in the order of docs/architecture.md. logEnd runs last, whichever step ends the call.
func (c *call) runSteps() *Result {
	result := runUntilResult(c.prepareHost, c.limitRate, c.findTool, c.decodeArguments, c.decideByGuard, c.applyBeforeHooks, c.enforceDecision)
	if result != nil {
		return result
	}
	result = runUntilResult(c.acquireCallSlot, c.prepareInstanceSpec, c.logBegin, c.callTool, c.convertResult)
	if c.slot != nil {
		c.slot.Release()
	}
	if stopped := callStoppedError(c.ctx); stopped != nil && result.Err != nil {
		result.Err = stopped
	}
	c.runAfterHooks(result)
	return result
}

// runUntilResult runs steps until one returns a result, which ends the call.
func runUntilResult(steps ...func() *Result) *Result {
	for _, step := range steps {
		if result := step(); result != nil {
			return result
		}
	}
	return nil
}

func (c *call) prepareHost() *Result {
	var err error
	if c.runtime, err = c.session.host.initRuntime(); err != nil {
		return pluginUnavailableResult(err)
	}
	return nil
}

// limitRate waits until the agent's calls per minute allow another call. Unknown and invalid calls count too.
func (c *call) limitRate() *Result {
	s := c.session
	queued, endTrace := s.traceQueuedCall(c.ctx, c.events)
	timeout, _ := s.commandTimeout()
	began := time.Now()
	err := s.host.shares.WaitForRate(c.ctx, s.account.agent, s.account.limits, timeout, queued)
	endTrace(err)
	c.maxWait = timeout - time.Since(began)
	if err != nil {
		return c.quotaRefusalResult(err)
	}
	return nil
}

func (c *call) findTool() *Result {
	tool, e := c.session.findTool(c.name)
	if tool != nil {
		c.record.Tool = tool.FullName()
	}
	if e != nil {
		return &Result{Err: e}
	}
	c.tool, c.builtin = tool, c.session.host.findBuiltinTool(tool)
	return nil
}

// decodeArguments parses and converts the arguments once, so that guard, hooks and plugin use the same values.
func (c *call) decodeArguments() *Result {
	args, e := decodeArguments(c.tool, c.raw)
	if e != nil {
		return &Result{Err: e}
	}
	c.arguments, c.raw = args, nil
	return nil
}

// decideByGuard asks the guard about every claimed argument. It sets decision for enforceDecision.
func (c *call) decideByGuard() *Result {
	c.decidingCtx, c.endDeciding = c.session.traceStep(c.ctx, Deciding)
	c.setDecision(c.session.decideCall(c.tool, c.arguments))
	return nil
}

func (c *call) setDecision(d guard.Decision) {
	c.decision = d
	c.record.Args, c.record.Decision, c.record.Rule = c.arguments.Values, d.Verdict.String(), d.Rule
}

// applyBeforeHooks runs the hooks of a call that is not refused. If a hook changes the arguments, the guard decides again, and
// the hooks are not asked again.
func (c *call) applyBeforeHooks() *Result {
	defer func() { c.endDeciding(nil) }()
	if c.decision.Verdict == guard.Deny {
		return nil
	}
	v := c.runBeforeHooks(c.decidingCtx)
	switch {
	case v.Deny != "":
		c.setDecision(guard.Decision{Verdict: guard.Deny, Rule: v.Rule, Reason: v.Deny, Hint: v.Hint})
		return nil
	case v.Args != nil:
		changed, e := decodeArguments(c.tool, v.Args)
		if e != nil {
			c.setDecision(guard.Decision{Verdict: guard.Deny, Rule: v.Rule,
				Reason: "a hook changed the arguments to invalid ones: " + e.Message,
				Hint:   cmp.Or(v.Hint, "correct the hook")})
			return nil
		}
		changed.Conversions = append(slices.Clip(c.arguments.Conversions), changed.Conversions...)
		c.arguments = changed
		c.setDecision(c.session.decideCall(c.tool, changed))
	}
	if v.Ask != "" && c.decision.Verdict == guard.Allow {
		c.setDecision(guard.Decision{Verdict: guard.Ask, Rule: v.Rule, Reason: v.Ask, Hint: v.Hint})
	}
	return nil
}

// enforceDecision ends a denied call, and asks a person if the call needs approval.
func (c *call) enforceDecision() *Result {
	d := c.decision
	consent := c.session.requestApprovalWithProgress(c.ctx, ApprovalQuestion{Tool: c.tool.FullName(), Args: c.arguments.Values, Decision: d},
		c.events)
	if d.Verdict == guard.Ask {
		c.record.Answer, c.record.Approval = approvalAnswerWord(consent.allowed), consent.approval
		c.approved = consent.allowed
	}
	switch stopped := callStoppedError(c.ctx); {
	case stopped != nil:
		return &Result{Err: stopped}
	case consent.allowed:
		return nil
	case d.Verdict == guard.Ask && c.ctx.Err() != nil:
		return &Result{Err: &Error{Code: pluginpb.CodeCancelled, Message: c.tool.Spec.Name + " was cancelled"}}
	}
	refused := &Error{Code: pluginpb.CodeAccessDenied, Message: d.Reason, Rule: d.Rule, Hint: d.Hint}
	if d.Verdict == guard.Ask {
		refused.Hint = consent.reason
	}
	return &Result{Err: refused}
}

// acquireCallSlot waits for a slot among the agent's concurrent calls, and for a call with a command also among its commands.
// Built-in tools need no slot.
func (c *call) acquireCallSlot() *Result {
	c.admittedCtx = c.ctx
	if c.builtin != nil {
		return nil
	}
	s := c.session
	limits := s.account.limits
	if !slices.ContainsFunc(c.arguments.claims, func(site pluginpb.ClaimedArgument) bool {
		return site.Claim == pluginpb.ClaimCommand && len(valuesAtPropertyPath(c.arguments.Values, site.Path)) > 0
	}) {
		limits.Commands = 0
	}
	queued, endTrace := s.traceQueuedCall(c.ctx, c.events)
	admitted, turn, err := s.host.shares.AcquireSlot(c.ctx, s.account.agent, limits, c.maxWait, queued)
	endTrace(err)
	if err != nil {
		return c.quotaRefusalResult(err)
	}
	c.admittedCtx, c.slot = admitted, turn
	return nil
}

// prepareInstanceSpec sets the specification of the plugin instance. The supervisor starts the instance on first use.
func (c *call) prepareInstanceSpec() *Result {
	if c.builtin != nil {
		return nil
	}
	var err error
	if c.spec, err = c.session.pluginInstanceSpec(c.tool.Plugin); err != nil {
		return pluginUnavailableResult(err)
	}
	if c.spec.Policy.Grants.Exec {
		c.work.commands.Store(true)
		if err := killswitch.CheckFreeSpace(c.session.policy.HomePath()); err != nil {
			return &Result{Err: lowDiskSpaceError(err)}
		}
	}
	return nil
}

// logBegin writes the audit entry of the call's begin. If that fails, the call is refused.
func (c *call) logBegin() *Result {
	c.record.Call = fmt.Sprintf("%s-%d", c.session.id, c.session.calls.Add(1))
	c.record = c.record.RedactedAndShortened()
	begin := c.record
	begin.State, begin.Millis = audit.Begun, toMilliseconds(time.Since(c.began))
	refused := c.session.logCallBegin(c.runtime.audit, begin)
	c.ran = refused == nil
	return refused
}

func toMilliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// callTool calls the tool in its plugin instance, or in the host for a built-in tool.
func (c *call) callTool() *Result {
	s := c.session
	if c.builtin != nil {
		return c.builtin.Call(c.admittedCtx, s, c.arguments.Canonical, c.events)
	}
	timeout, _ := s.commandTimeout()
	ctx, cancel := pausable.WithTimeout(c.admittedCtx, timeout+callGrace)
	defer cancel()
	network := s.networkOfPlugin(c.tool.Plugin)
	connections := network.watchCall(ctx, s, c.arguments.Canonical)
	request := &pluginpb.CallRequest{Tool: c.tool.CallName(), Arguments: c.arguments.Canonical, CallId: s.id,
		Agreed: c.approved, NoOutput: c.events == nil || !ReadsOutputEvents(c.ctx)}
	c.arguments.Values = nil // large ones need not stay until the plugin answers
	started, endTrace := s.tracePluginCall(ctx, request)
	answer, err := c.runtime.supervisor.Call(ctx, c.spec, request, supervise.CallCallbacks{
		Ready: started, Event: newEventTranslator(s.countAndDelayOutput(c.admittedCtx, c.events)), Answer: s.newElicitationHandler(ctx, c.tool),
	})
	endTrace(err)
	c.refused = network.endCallWatch(connections)
	if err != nil {
		return s.callFailureResult(ctx, c.tool, err)
	}
	c.answer = answer
	return nil
}

// convertResult converts the plugin's result and enforces size limits.
func (c *call) convertResult() *Result {
	s := c.session
	result := s.convertPluginResult(c.tool, c.answer)
	result.undoID = undoIDOf(c.spec.Policy, c.answer)
	if result.Err != nil && result.Err.Code == pluginpb.CodeWithdrawn {
		s.quarantineTool(c.tool, result.Err.Message)
	}
	result.addMissingGrantHints(c.tool.Plugin, c.refused)
	s.host.shares.CountOutput(s.account.agent, s.account.limits, result.byteSize())
	return result
}

// logEnd completes and writes the call's audit entry. It returns the result, or an error if writing fails.
func (c *call) logEnd(result *Result) *Result {
	result.Duration = time.Since(c.began)
	r := &c.record
	r.Millis = toMilliseconds(result.Duration)
	r.Bytes, r.Undo = result.byteSize(), result.undoID
	if result.Err != nil {
		r.Error = result.Err.Message
		// A layer after the guard sets its own rule, and its refusal before the call is a denial.
		if r.Rule == "" || result.Err.Rule != "" && !r.WasDenied() {
			r.Rule = result.Err.Rule
			if !c.ran && r.Rule != "" && r.Rule != unwritableLogRule {
				r.Decision = guard.Deny.String()
			}
		}
	}
	return c.session.logCallEnd(*r, result, c.ran)
}

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

func (c *call) newHookedCall() HookedCall {
	return HookedCall{Tool: c.tool.FullName(), Args: c.arguments.Canonical, ID: c.hookID}
}

// runBeforeHooks runs the hooks before the call. Without hooks, it returns the zero verdict.
func (c *call) runBeforeHooks(ctx context.Context) HookVerdict {
	hooks := c.session.host.options.Hooks
	if hooks == nil {
		return HookVerdict{}
	}
	c.hookID = "call_" + strings.ToLower(rand.Text()[:12])
	v := hooks.Before(ctx, c.session, c.newHookedCall())
	c.hookMessage = v.Message
	return v
}

// runAfterHooks passes the call's result to the hooks and appends their messages to it.
func (c *call) runAfterHooks(r *Result) {
	hooks := c.session.host.options.Hooks
	if hooks == nil {
		return
	}
	text := hooks.After(c.ctx, c.session, c.newHookedCall(), r)
	if text = strings.TrimSpace(c.hookMessage + "\n" + text); text != "" {
		r.addHostNote("[hook] " + text)
	}
}
