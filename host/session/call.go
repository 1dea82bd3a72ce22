package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/picoclaw/picoclaw/host/catalog"
	"github.com/picoclaw/picoclaw/host/quota"
	"github.com/picoclaw/picoclaw/host/supervise"
	"github.com/picoclaw/picoclaw/internal/fulldisk"
	"github.com/picoclaw/picoclaw/internal/suggest"
	"github.com/picoclaw/picoclaw/sdk"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
	"github.com/picoclaw/picoclaw/sdk/pluginpolicy"
)

// callGrace is added to a command's timeout for the rest of its call, such as the start of the plugin.
const callGrace = 30 * time.Second

// callArguments are the decoded arguments of a call, with the locations of those that the guard checks.
type callArguments struct {
	*pluginpb.Arguments
	claims []pluginpb.ClaimedArgument
}

func decodeArguments(t *catalog.Tool, raw json.RawMessage) (*callArguments, *Error) {
	known, err := t.ArgumentSchema()
	if err != nil {
		return nil, &Error{Code: pluginpb.CodeFailed, Message: fmt.Sprintf("plugin %s: %v", t.Plugin.Manifest.ID, err)}
	}
	args, err := known.Reader.Read(raw)
	if err != nil {
		return nil, invalidArgumentError(t, err)
	}
	return &callArguments{args, known.Claims}, nil
}

func invalidArgumentError(t *catalog.Tool, err error) *Error {
	e := &Error{Code: pluginpb.CodeInvalidArgument, Message: err.Error()}
	if wrong, ok := errors.AsType[*pluginpb.InvalidArgumentsError](err); ok && len(wrong.Known) > 0 {
		if wrong.Unknown != "" {
			e.Message += suggest.DidYouMean(wrong.Unknown, wrong.Known)
		}
		e.Hint = fmt.Sprintf("%s takes %s", t.Spec.Name, joinWithCommas(wrong.Known))
	}
	return e
}

// commandTimeout returns the timeout of a call's command and its configuration key. It also limits the wait for the
// agent's quota.
func (s *Session) commandTimeout() (time.Duration, string) {
	limits := s.policy.CallLimits()
	if s.origin == Cron && limits.CronTimeout > 0 {
		return limits.CronTimeout, "tools.cron.exec_timeout_minutes"
	}
	return limits.ExecTimeout, "tools.exec.timeout_seconds"
}

// callFailureResult returns the result of a call whose plugin returned no result, with a hint for the cause.
func (s *Session) callFailureResult(ctx context.Context, t *catalog.Tool, err error) *Result {
	var full *supervise.InstanceLimitError
	timeout, timeoutKey := s.commandTimeout()
	switch {
	case errors.As(err, &full) && ctx.Err() == nil:
		return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Rule: quota.PluginsKey,
			Hint: "the operator may raise " + quota.PluginsKey}}
	case errors.Is(err, context.DeadlineExceeded):
		return &Result{Err: &Error{
			Code:    pluginpb.CodeTimeout,
			Message: fmt.Sprintf("%s did not finish within %s", t.Spec.Name, timeout+callGrace),
			Hint:    "ask for less in a call; the operator may raise " + timeoutKey,
		}}
	case errors.Is(err, context.Canceled) || ctx.Err() != nil:
		return &Result{Err: &Error{Code: pluginpb.CodeCancelled, Message: t.Spec.Name + " was cancelled"}}
	}
	if failed, ok := errors.AsType[*supervise.CrashLimitError](err); ok {
		return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Hint: pluginResetHint(failed.Plugin)}}
	}
	if crash, ok := errors.AsType[*supervise.CrashError](err); ok {
		hint := "the next call starts the plugin again"
		if crash.LimitReached {
			hint = "it has crashed too often and is not started again; " + pluginResetHint(crash.Plugin)
		}
		return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: err.Error(), Hint: hint}}
	}
	return pluginUnavailableResult(err)
}

func pluginResetHint(plugin string) string {
	return fmt.Sprintf("`picoclaw plugin reset %s` allows another start", plugin)
}

// convertPluginResult converts a plugin's result. A result over the size limit, or with invalid JSON, becomes an error.
func (s *Session) convertPluginResult(t *catalog.Tool, r *pluginpb.Result) *Result {
	out := &Result{
		Answered: true, Text: r.AgentText(), Structured: r.GetStructured(), Content: convertContentBlocks(r.ContentBlocks()),
	}
	if e := r.GetError(); e != nil {
		out.Err = &Error{Code: e.GetCode(), Message: e.GetMessage(), Rule: e.GetRule(), Hint: e.GetHint()}
	}
	if size, limit := int64(out.byteSize()), s.policy.CallLimits().ResultSize; limit > 0 && size > limit {
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

func pluginUnavailableResult(err error) *Result {
	e := &Error{Code: pluginpb.CodeUnavailable, Message: err.Error()}
	if fulldisk.IsFullDiskError(err) {
		e.Hint = fulldisk.Remedy
	}
	return &Result{Err: e}
}

// Result is the outcome of a call. A failed call may have Text and Structured as partial results.
type Result struct {
	Text       string          // for the agent
	Structured json.RawMessage // typed result, a JSON object in one line; nil for text-only tools
	Content    []Content       // all blocks in order, if there is more than text; Text has the readable part
	Err        *Error          // nil if the call succeeded
	Answered   bool            // the tool ran and answered: Err is its own
	Duration   time.Duration   // from the call's arrival to its result

	undoID string // id of the change in the undo history
}

// Error says why a call failed and how to fix it. The tool or the host wrote the text.
type Error = sdk.Error

// Content is one block of a result: text, media, or a resource with a URI.
type Content = sdk.Content

func convertContentBlocks(blocks []*pluginpb.Content) []Content {
	var all []Content
	for _, b := range blocks {
		all = append(all, Content{Text: b.GetText(), Data: b.GetData(), MediaType: b.GetMediaType(), URI: b.GetUri(),
			Role: b.GetRole()})
	}
	return all
}

// addHostNote appends a note of the host to all forms of the result that the agent may read.
func (r *Result) addHostNote(note string) {
	if r.Text == "" && len(r.Content) == 0 {
		r.Text = string(r.Structured) // which agents read where there is no text
	}
	if r.Text != "" && !strings.HasSuffix(r.Text, "\n") {
		r.Text += "\n"
	}
	r.Text += note
	if len(r.Content) > 0 {
		r.Content = append(r.Content, Content{Text: note})
	}
}

// addNetworkRefusals appends the reasons of refused network connections to the result.
func (r *Result) addNetworkRefusals(reasons []string) {
	for _, reason := range reasons {
		r.addHostNote("[" + reason + "]")
		if r.Err != nil && r.Err.Hint == "" {
			r.Err.Hint = reason
		}
	}
}

func (r *Result) byteSize() int {
	n := len(r.Text) + len(r.Structured)
	for _, c := range r.Content {
		n += len(c.Data)
	}
	return n
}

// maxUndoIDBytes is the maximum length of an undo id in bytes; a longer one is ignored.
const maxUndoIDBytes = 64

// undoIDOf returns the undo id in a plugin's result; empty if the plugin has no undo store.
func undoIDOf(p *pluginpolicy.Policy, r *pluginpb.Result) string {
	if p.Undo.Dir == "" || len(r.GetUndo()) > maxUndoIDBytes {
		return ""
	}
	return r.GetUndo()
}

// quotaOwner names the agent whose quota a session uses: its own, or the agent that delegated the work.
type quotaOwner struct {
	agent  string
	limits quota.AgentLimits
}

// maxOutputDelay limits the delay of one piece of output when an agent exceeds its output limit. The call's timeout
// continues during the delay.
const maxOutputDelay = time.Second

// countAndDelayOutput wraps events to count a call's output for the agent's quota. Over the limit it delays the output.
func (s *Session) countAndDelayOutput(ctx context.Context, events func(CallEvent)) func(CallEvent) {
	if events == nil || s.account.limits.Output == 0 {
		return events
	}
	return func(e CallEvent) {
		owed := s.host.shares.CountOutput(s.account.agent, s.account.limits, len(e.Output))
		if owed > 0 && len(e.Output) > 0 {
			select {
			case <-time.After(min(owed, maxOutputDelay)):
			case <-ctx.Done():
			}
		}
		events(e)
	}
}

// traceQueuedCall returns two functions: queued reports a waiting call to its caller and the tracer, and endTrace ends
// the trace.
func (s *Session) traceQueuedCall(ctx context.Context, events func(CallEvent)) (queued func(why string), endTrace func(error)) {
	end := func(error) {}
	queued = func(why string) {
		_, end = s.traceStep(ctx, Queueing)
		if events != nil {
			events(CallEvent{Message: why})
		}
	}
	return queued, func(err error) { end(err) }
}

// quotaRefusalResult returns the result of a call that exceeds a limit of the quota, or was cancelled while it waited.
func (c *call) quotaRefusalResult(err error) *Result {
	if stopped := callStoppedError(c.ctx); stopped != nil {
		return &Result{Err: stopped}
	}
	var over *quota.ExceededError
	if !errors.As(err, &over) {
		return &Result{Err: &Error{Code: pluginpb.CodeCancelled, Message: fmt.Sprintf("%s was %v", c.record.Tool, err)}}
	}
	return &Result{Err: &Error{Code: pluginpb.CodeUnavailable, Message: over.Why, Rule: over.Key,
		Hint: "make fewer calls at a time, or call it again later; the operator may raise " + over.Key}}
}
