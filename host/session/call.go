package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/audit"
	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/share"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/nearest"
	"github.com/picoclaw/picoclaw/internal/patience"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// callGrace is how much longer than its command a call may take: for starting the plugin, ending what does not want
// to end, and carrying the result.
const callGrace = 30 * time.Second

// Call calls a tool with arguments that are a JSON object, and is the only way to one. events, if not nil, is given
// what the tool has to tell before its result, in order. Whatever goes wrong is in the result.
func (s *Session) Call(ctx context.Context, tool string, arguments json.RawMessage, events func(Event)) *Result {
	if s.preview {
		return unavailable(errors.New("this session only decides on calls"))
	}
	began := time.Now()
	record := audit.Record{
		Time: began.UTC(), Agent: s.policy.Agent(), Session: s.id, Parent: s.parent, Origin: string(s.origin), Tool: tool,
		Decision: guard.Deny.String(),
	}
	if err := s.recordable(); err != nil {
		return err
	}
	ctx, done := s.host.Until(ctx, record.Agent)
	defer done()
	ctx, ended := s.follow(ctx, record)
	result := s.call(ctx, tool, arguments, events, &record)
	result.Duration = time.Since(began)

	record.Millis = float64(result.Duration.Microseconds()) / 1000
	record.Bytes, record.Undo = result.size(), result.undo
	if result.Err != nil {
		record.Error = result.Err.Message
		if record.Rule == "" || result.Err.Rule != "" && record.Decision == guard.Allow.String() { // a wall behind the guard
			record.Rule = result.Err.Rule
		}
	}
	result = s.record(record, result)
	ended(record, result)
	return result
}

// call is the way of a call; it fills in the record as it goes.
func (s *Session) call(ctx context.Context, name string, raw json.RawMessage, events func(Event),
	record *audit.Record) *Result {
	machinery, err := s.host.ready()
	if err != nil {
		return unavailable(err)
	}
	if early := s.begin(ctx, events, record); early != nil {
		return early
	}
	t, args, e := s.read(name, raw)
	if t != nil {
		record.Tool = t.FullName()
	}
	if e != nil {
		return &Result{Err: e}
	}
	deciding, decided := s.step(ctx, Deciding)
	decision := s.decide(t.Plugin, args)
	hooked := s.hooked(t)
	args, decision = hooked.before(deciding, args, decision)
	decided(nil)
	record.Args = args.Values
	record.Decision, record.Rule = decision.Verdict.String(), decision.Rule
	consent := s.permittedCall(ctx, Question{Tool: t.FullName(), Args: args.Values, Decision: decision}, events)
	if decision.Verdict == guard.Ask {
		record.Answer, record.Approval = answer(consent.allowed), consent.by
	}
	if stopped := stoppedError(ctx); stopped != nil {
		return &Result{Err: stopped}
	}
	if decision.Verdict == guard.Ask && !consent.allowed && ctx.Err() != nil {
		return &Result{Err: &Error{Code: pluginpb.CodeCancelled, Message: t.Spec.Name + " was cancelled"}}
	}
	if !consent.allowed {
		return &Result{Err: refusal(decision, consent)}
	}
	var result *Result
	if own := s.host.ownTool(t); own != nil {
		result = own.Call(ctx, s, args.Canonical, events)
	} else {
		result = s.callInTurn(ctx, machinery, t, args, events, record)
	}
	if stopped := stoppedError(ctx); stopped != nil && result.Err != nil {
		result.Err = stopped
	}
	hooked.after(ctx, args, result)
	return result
}

// callPlugin has an instance make the call. agreed says that a person has allowed it.
func (s *Session) callPlugin(ctx context.Context, m *machinery, t *catalog.Tool, args *arguments, events func(Event),
	agreed bool) *Result {
	spec, err := s.spec(t.Plugin)
	if err != nil {
		return unavailable(err)
	}
	ctx, cancel := patience.WithTimeout(ctx, s.timeout())
	defer cancel()
	network := s.network(t.Plugin)
	reaching := network.begin(ctx, s)
	request := &pluginpb.CallRequest{Tool: t.Spec.Name, Arguments: args.Canonical, CallId: s.id, Agreed: agreed}
	ready, returned := s.way(ctx, request)
	outcome, err := m.supervisor.Call(ctx, spec, request,
		supervise.Listener{Ready: ready, Event: translate(events), Answer: answers(ctx, t.FullName())})
	returned(err)
	refused := network.end(reaching)
	if err != nil {
		return s.broken(ctx, t, err)
	}
	result := s.bounded(t, outcome.Result)
	if spec.Configure.Takeback != nil {
		result.undo = undoOf(result.Structured)
	}
	if result.Err != nil && result.Err.Code == pluginpb.CodeWithdrawn {
		s.host.gone.add(t)
		if err := s.noteWithdrawal(t, result.Err.Message); err != nil {
			s.host.logger.Warn("the operator is not told of a tool that has changed", "error", err)
		}
	}
	result.addRefused(refused)
	return result
}

// arguments are a call's arguments, and which of them say what the call reaches.
type arguments struct {
	*pluginpb.Arguments
	claims []pluginpb.Site
}

// read finds the tool and reads its arguments, once for everybody behind.
func (s *Session) read(name string, raw json.RawMessage) (*catalog.Tool, *arguments, *Error) {
	t, e := s.find(name)
	if e != nil {
		return t, nil, e
	}
	known, err := t.Arguments()
	if err != nil {
		return t, nil, &Error{Code: pluginpb.CodeFailed, Message: fmt.Sprintf("plugin %s: %v", t.Plugin.Manifest.ID, err)}
	}
	args, err := known.Reader.Read(raw)
	if err != nil {
		return t, nil, argumentError(t, err)
	}
	return t, &arguments{args, known.Claims}, nil
}

func argumentError(t *catalog.Tool, err error) *Error {
	e := &Error{Code: pluginpb.CodeInvalidArgument, Message: err.Error()}
	var wrong *pluginpb.ArgumentError
	if errors.As(err, &wrong) && len(wrong.Known) > 0 {
		if wrong.Unknown != "" {
			e.Message += nearest.Suggest(wrong.Unknown, wrong.Known)
		}
		e.Hint = fmt.Sprintf("%s takes %s", t.Spec.Name, list(wrong.Known))
	}
	return e
}

// timeout bounds a call. Its command, if it runs one, has a bound of its own below that.
func (s *Session) timeout() time.Duration {
	limits := s.policy.Limits()
	if s.origin == Cron && limits.CronTimeout > 0 {
		return limits.CronTimeout + callGrace
	}
	return limits.ExecTimeout + callGrace
}

// refusal is the error of a call that the guard did not allow, or the person who was asked.
func refusal(d guard.Decision, c consent) *Error {
	e := &Error{Code: pluginpb.CodeAccessDenied, Message: d.Reason, Rule: d.Rule, Hint: d.Hint}
	if d.Verdict == guard.Ask {
		e.Hint = c.refused
	}
	return e
}

// broken is the result of a call that has not come back from its plugin.
func (s *Session) broken(ctx context.Context, t *catalog.Tool, err error) *Result {
	var full *supervise.FullError
	switch {
	case errors.As(err, &full) && ctx.Err() == nil:
		return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Rule: share.PluginsKey,
			Hint: "the operator may raise " + share.PluginsKey}}
	case errors.Is(err, context.DeadlineExceeded):
		return &Result{Err: &Error{
			Code:    pluginpb.CodeTimeout,
			Message: fmt.Sprintf("%s did not finish within %s", t.Spec.Name, s.timeout()),
			Hint:    "tools.exec.timeout_seconds sets how long a call may take",
		}}
	case errors.Is(err, context.Canceled) || ctx.Err() != nil:
		return &Result{Err: &Error{Code: pluginpb.CodeCancelled, Message: t.Spec.Name + " was cancelled"}}
	}
	var failed *supervise.Failed
	if errors.As(err, &failed) {
		return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Hint: resetHint(failed.Plugin)}}
	}
	var crash *supervise.CrashError
	if errors.As(err, &crash) {
		hint := "the next call starts the plugin again"
		if crash.Last {
			hint = "it has crashed too often and is not started again; " + resetHint(crash.Plugin)
		}
		return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Hint: hint}}
	}
	return unavailable(err)
}

func resetHint(plugin string) string {
	return fmt.Sprintf("`picoclaw plugin reset %s` lets it be started again", plugin)
}

// bounded turns a plugin's answer into a result, if it is not larger than the policy's limit.
func (s *Session) bounded(t *catalog.Tool, r *pluginpb.Result) *Result {
	out := &Result{
		Answered: true, Text: r.AgentText(), Structured: r.GetStructured(), Content: contents(r.Blocks()),
	}
	if e := r.GetError(); e != nil {
		out.Err = &Error{Code: e.GetCode(), Message: e.GetMessage(), Rule: e.GetRule(), Hint: e.GetHint()}
	}
	if size, limit := int64(out.size()), s.policy.Limits().ResultSize; limit > 0 && size > limit {
		return &Result{Err: &Error{
			Code:    pluginpb.CodeTooLarge,
			Message: fmt.Sprintf("the result of %s is %d bytes long; at most %d are passed on", t.Spec.Name, size, limit),
			Hint:    "ask for a part of it",
		}}
	}
	if len(out.Structured) > 0 {
		compact := jsontext.Value(out.Structured) // in one line
		if compact.Compact(jsontext.AllowInvalidUTF8(false)) != nil {
			return &Result{Err: &Error{Code: pluginpb.CodeFailed,
				Message: fmt.Sprintf("plugin %s answered with something that is not JSON", t.Plugin.Manifest.ID)}}
		}
		out.Structured = json.RawMessage(compact)
	}
	return out
}

func unavailable(err error) *Result {
	return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: err.Error()}}
}
