package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// callGrace is how much longer than its command a call may take: for starting the plugin, ending what does not want
// to end, and carrying the result.
const callGrace = 30 * time.Second

// arguments are a call's arguments, and which of them say what the call reaches.
type arguments struct {
	*pluginpb.Arguments
	claims []pluginpb.Site
}

// decodeArguments reads a tool's arguments.
func decodeArguments(t *catalog.Tool, raw json.RawMessage) (*arguments, *Error) {
	known, err := t.Arguments()
	if err != nil {
		return nil, &Error{Code: pluginpb.CodeFailed, Message: fmt.Sprintf("plugin %s: %v", t.Plugin.Manifest.ID, err)}
	}
	args, err := known.Reader.Read(raw)
	if err != nil {
		return nil, argumentError(t, err)
	}
	return &arguments{args, known.Claims}, nil
}

func argumentError(t *catalog.Tool, err error) *Error {
	e := &Error{Code: pluginpb.CodeInvalidArgument, Message: err.Error()}
	if wrong, ok := errors.AsType[*pluginpb.ArgumentError](err); ok && len(wrong.Known) > 0 {
		if wrong.Unknown != "" {
			e.Message += suggest.DidYouMean(wrong.Unknown, wrong.Known)
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

// callFailure is the result of a call that got no answer from its plugin.
func (s *Session) callFailure(ctx context.Context, t *catalog.Tool, err error) *Result {
	var full *supervise.FullError
	switch {
	case errors.As(err, &full) && ctx.Err() == nil:
		return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Rule: quota.PluginsKey,
			Hint: "the operator may raise " + quota.PluginsKey}}
	case errors.Is(err, context.DeadlineExceeded):
		return &Result{Err: &Error{
			Code:    pluginpb.CodeTimeout,
			Message: fmt.Sprintf("%s did not finish within %s", t.Spec.Name, s.timeout()),
			Hint:    "tools.exec.timeout_seconds sets how long a call may take",
		}}
	case errors.Is(err, context.Canceled) || ctx.Err() != nil:
		return &Result{Err: &Error{Code: pluginpb.CodeCancelled, Message: t.Spec.Name + " was cancelled"}}
	}
	if failed, ok := errors.AsType[*supervise.DisabledError](err); ok {
		return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Hint: resetHint(failed.Plugin)}}
	}
	if crash, ok := errors.AsType[*supervise.CrashError](err); ok {
		hint := "the next call starts the plugin again"
		if crash.LimitReached {
			hint = "it has crashed too often and is not started again; " + resetHint(crash.Plugin)
		}
		return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Hint: hint}}
	}
	return unavailable(err)
}

func resetHint(plugin string) string {
	return fmt.Sprintf("`picoclaw plugin reset %s` lets it be started again", plugin)
}

// resultOf converts a plugin's answer. One that is larger than the policy's limit, or no JSON, becomes an error.
func (s *Session) resultOf(t *catalog.Tool, r *pluginpb.Result) *Result {
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
