package agent

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
)

// runLoop asks the model and makes its calls, until a reply has no calls.
func (t *turn) runLoop(text string) error {
	if !t.repairsReported {
		t.repairsReported = true
		for _, said := range t.transcript.Repairs() {
			t.emitNotice(RepairNotice, "%s", said)
		}
	}
	if err := t.summariseOldTurns(); err != nil {
		return err
	}
	t.task = text
	if err := t.transcript.AppendMessage(Message{Role: User, Text: text}, nil); err != nil {
		return err
	}
	for {
		if err := t.checkTurnLimits(); err != nil {
			return err
		}
		if err := t.appendInboxMessages(); err != nil {
			return err
		}
		reply, err := t.askModel()
		if err != nil {
			return err
		}
		t.outcome.Text, t.outcome.Stop = reply.Message.Text, reply.Stop
		if reply.Stop == StopLength {
			t.emitNotice(LengthNotice, "the model's answer was cut off: it may have %d tokens (agents.defaults.max_tokens)",
				t.settings.MaxTokens)
		}
		if err := t.transcript.AppendMessage(reply.Message, &reply.Usage); err != nil {
			return err
		}
		if len(reply.Message.Calls) == 0 {
			if reply.Message.Text == "" {
				t.emitNotice(EmptyNotice, "the model's answer is empty")
			}
			return nil
		}
		if err := t.makeCalls(reply.Message.Calls); err != nil {
			return err
		}
	}
}

// checkTurnLimits returns an error if a limit forbids another request to the model.
func (t *turn) checkTurnLimits() error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if err := t.meter.checkBudget(); err != nil {
		return err
	}
	if limit := t.settings.MaxIterations; limit > 0 && t.outcome.Iterations >= limit {
		return &BudgetExceededError{"iterations", iterationsSetting,
			fmt.Sprintf("the turn has reached its limit of %d requests to the model", limit)}
	}
	return nil
}

// appendInboxMessages adds new inbox messages to the conversation.
func (t *turn) appendInboxMessages() error {
	for _, text := range t.inbox() {
		first, _, _ := strings.Cut(text, "\n")
		t.emitNotice(ChildNotice, "%s", first)
		if err := t.transcript.AppendMessage(Message{Role: User, Text: text}, nil); err != nil {
			return err
		}
	}
	return nil
}

// buildRequest returns the next request to the model.
func (t *turn) buildRequest() (ModelRequest, error) {
	var err error
	if t.toolNames, err = t.listTools(); err != nil {
		return ModelRequest{}, err
	}
	left := t.meter.remainingBudget()
	if limit := t.settings.MaxIterations; limit > 0 {
		left.Iterations = limit - t.outcome.Iterations
	}
	r := ModelRequest{
		System: t.system, Messages: t.transcript.Messages(), Tools: t.toolNames.tools, MaxTokens: t.settings.MaxTokens,
		Remaining: left, Observe: t.forwardProviderEvent,
	}
	if left.Tokens > 0 && int64(r.MaxTokens) > left.Tokens {
		r.MaxTokens = int(left.Tokens)
	}
	return r, nil
}

// askModel sends the request to the model. If the conversation is too long, it shortens it and asks again.
func (t *turn) askModel() (*ModelReply, error) {
	for cut := false; ; cut = true {
		r, err := t.buildRequest()
		if err != nil {
			return nil, err
		}
		if done, fitErr := t.fitContext(r); fitErr != nil {
			return nil, fitErr
		} else if done {
			r.Messages = t.transcript.Messages()
		}
		t.outcome.Iterations++
		reply, err := t.generateWithRetries(r, func(text string) { t.emitEvent(TurnEvent{Kind: TextEvent, Text: text}) })
		if err == nil {
			reply.Message.Calls = normalizeCalls(reply.Message.Calls)
			return reply, nil
		}
		if failed, ok := errors.AsType[*ModelError](err); cut || !ok || !failed.TooLong || t.acted.Load() {
			return nil, err
		}
		if done, cutErr := t.cutContextToSize(messageBytes(r.Messages) / 2); cutErr != nil || !done {
			return nil, err
		}
	}
}

// forwardProviderEvent emits an event of a provider that makes calls itself, and records that it made calls.
func (t *turn) forwardProviderEvent(e TurnEvent) {
	if e.Kind == CallEvent {
		t.acted.Store(true)
	}
	t.emitEvent(e)
}

// maxRetryWait limits the delay a provider may request.
const maxRetryWait = 5 * time.Minute

// generateWithRetries asks the model, with retries, and counts usage. It does not retry a provider that has made calls
// itself, since a retry would repeat them.
func (t *turn) generateWithRetries(r ModelRequest, onText func(string)) (*ModelReply, error) {
	t.acted.Store(false)
	for try := 0; ; try++ {
		reply, err := t.model.Generate(t.ctx, r, onText)
		if err == nil {
			t.countUsage(r, reply)
			return reply, nil
		}
		wait, again := retryDelay(err)
		if t.ctx.Err() != nil || t.acted.Load() || !again || try >= t.settings.MaxRetries || wait > maxRetryWait {
			return nil, err
		}
		wait = max(wait, min(t.settings.RetryBackoff<<min(try, 16), maxRetryWait))
		t.emitNotice(RetryNotice, "%v; retry in %s (%d of %d)", err, wait, try+1, t.settings.MaxRetries)
		select {
		case <-time.After(wait):
		case <-t.ctx.Done():
			return nil, t.ctx.Err()
		}
	}
}

// normalizeCalls gives calls unique ids and valid JSON arguments.
func normalizeCalls(calls []ToolCall) []ToolCall {
	seen := make(map[string]bool)
	for i := range calls {
		c := &calls[i]
		if c.ID == "" || seen[c.ID] {
			c.ID = "call_" + strings.ToLower(rand.Text()[:12])
		}
		seen[c.ID] = true
		if len(c.Arguments) == 0 {
			c.Arguments = json.RawMessage("{}")
		}
		if !json.Valid(c.Arguments) {
			c.Arguments, _ = json.Marshal(string(c.Arguments))
		}
	}
	return calls
}

// makeCalls makes calls in order. If the turn ends first, the remaining calls get an error as their result, since
// models require a result.
func (t *turn) makeCalls(all []ToolCall) error {
	var ended error
	for _, c := range all {
		if ended == nil {
			ended = t.ctx.Err()
		}
		if ended == nil {
			if over := t.meter.admitCall(); over != nil {
				ended = over
			}
		}
		m := Message{Role: ToolResult, CallID: c.ID}
		if ended != nil {
			m.Text, m.Failed = fmt.Sprintf("This call did not run: %v.", ended), true
		} else {
			m.Text, m.Failed = t.makeCall(c)
		}
		if err := t.transcript.AppendMessage(m, nil); err != nil {
			return err
		}
	}
	return ended
}

// makeCall makes a call, and returns its result as text for the model.
func (t *turn) makeCall(c ToolCall) (text string, failed bool) {
	c.Tool = cmp.Or(t.toolNames.hostNames[c.Tool], c.Tool) // the host reports unknown names
	t.emitEvent(TurnEvent{Kind: CallEvent, Call: &c})
	result := t.tools.Call(session.WithRequest(t.ctx, session.RequestInfo{CallID: c.ID}), c.Tool, c.Arguments, func(e session.CallEvent) {
		t.emitEvent(TurnEvent{Kind: OutputEvent, Call: &c, Output: &e})
	})
	t.emitEvent(TurnEvent{Kind: ResultEvent, Call: &c, Result: result})
	return markAsData(c.Tool, resultText(result)), result.Err != nil
}
