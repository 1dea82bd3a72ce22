package agent

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/host/session"
)

// run is the loop.
func (t *turn) run(text string) error {
	if !t.repaired {
		t.repaired = true
		for _, said := range t.transcript.Repairs() {
			t.notice(RepairNotice, "%s", said)
		}
	}
	if err := t.shorten(); err != nil {
		return err
	}
	t.task = text
	if err := t.keep(Message{Role: User, Text: text}, nil); err != nil {
		return err
	}
	for {
		if err := t.mayAsk(); err != nil {
			return err
		}
		if err := t.hear(); err != nil {
			return err
		}
		reply, err := t.ask()
		if err != nil {
			return err
		}
		t.outcome.Text, t.outcome.Stop = reply.Message.Text, reply.Stop
		if reply.Stop == Length {
			t.notice(LengthNotice, "the model's answer was cut off: it may have %d tokens (agents.defaults.max_tokens)",
				t.settings.MaxTokens)
		}
		if err := t.keep(reply.Message, &reply.Usage); err != nil {
			return err
		}
		if len(reply.Message.Calls) == 0 {
			if reply.Message.Text == "" {
				t.notice(EmptyNotice, "the model has answered with nothing")
			}
			return nil
		}
		if err := t.calls(reply.Message.Calls); err != nil {
			return err
		}
	}
}

// mayAsk says why the model may not be asked again.
func (t *turn) mayAsk() error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	if err := t.meter.over(); err != nil {
		return err
	}
	if limit := t.settings.MaxIterations; limit > 0 && t.outcome.Iterations >= limit {
		return overIterations(limit)
	}
	return nil
}

// hear tells the model what has come meanwhile.
func (t *turn) hear() error {
	for _, text := range t.inbox() {
		first, _, _ := strings.Cut(text, "\n")
		t.notice(ChildNotice, "%s", first)
		if err := t.keep(Message{Role: User, Text: text}, nil); err != nil {
			return err
		}
	}
	return nil
}

// keep adds a message to the conversation.
func (t *turn) keep(m Message, used *Usage) error { return t.transcript.Append(m, used) }

// request is what the model is asked now.
func (t *turn) request() (Request, error) {
	var err error
	if t.offered, err = t.offer(); err != nil {
		return Request{}, err
	}
	left := t.meter.left()
	if limit := t.settings.MaxIterations; limit > 0 {
		left.Iterations = limit - t.outcome.Iterations
	}
	r := Request{
		System: t.system, Messages: t.transcript.Messages(), Tools: t.offered.tools, MaxTokens: t.settings.MaxTokens,
		Session: t.transcript.Key(), Left: left, Observe: t.others,
	}
	if left.Tokens > 0 && int64(r.MaxTokens) > left.Tokens {
		r.MaxTokens = int(left.Tokens)
	}
	return r, nil
}

// ask asks the model. A conversation that turns out to be too long is cut, and the model asked once more.
func (t *turn) ask() (*Reply, error) {
	for cut := false; ; cut = true {
		r, err := t.request()
		if err != nil {
			return nil, err
		}
		if done, err := t.fit(r); err != nil {
			return nil, err
		} else if done {
			r.Messages = t.transcript.Messages()
		}
		t.outcome.Iterations++
		reply, err := t.generate(r, func(text string) { t.emit(Event{Kind: TextEvent, Text: text}) })
		if err == nil {
			reply.Message.Calls = wellFormed(reply.Message.Calls)
			return reply, nil
		}
		if cut || !tooLong(err) || t.acted.Load() {
			return nil, err
		}
		if done, cutErr := t.halve(r); cutErr != nil || !done {
			return nil, err
		}
	}
}

// others passes on what a provider's own loop does.
func (t *turn) others(e Event) {
	if e.Kind == CallEvent {
		t.acted.Store(true)
	}
	t.emit(e)
}

// longestWait is how long a provider may have us wait.
const longestWait = 5 * time.Minute

// generate asks a model, again if that may help, and counts what it has used. A provider whose own loop has made calls
// is not asked again: it would make them twice.
func (t *turn) generate(r Request, onText func(string)) (*Reply, error) {
	t.acted.Store(false)
	for try := 0; ; try++ {
		reply, err := t.model.Generate(t.ctx, r, onText)
		if err == nil {
			t.count(r, reply)
			return reply, nil
		}
		wait, again := temporary(err)
		if t.ctx.Err() != nil || t.acted.Load() || !again || try >= t.settings.MaxRetries || wait > longestWait {
			return nil, err
		}
		wait = max(wait, min(t.settings.RetryBackoff<<min(try, 16), longestWait))
		t.notice(RetryNotice, "%v; asking again in %s (%d of %d)", err, wait, try+1, t.settings.MaxRetries)
		select {
		case <-time.After(wait):
		case <-t.ctx.Done():
			return nil, t.ctx.Err()
		}
	}
}

// wellFormed gives calls ids that differ, and arguments that can be kept.
func wellFormed(calls []Call) []Call {
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

// calls makes calls in their order. Where the turn ends in between, the rest is answered with why they were not made,
// so that the conversation stays one that models take.
func (t *turn) calls(all []Call) error {
	var ended error
	for _, c := range all {
		if ended == nil {
			ended = t.ctx.Err()
		}
		if ended == nil {
			if over := t.meter.call(); over != nil {
				ended = over
			}
		}
		m := Message{Role: ToolResult, CallID: c.ID}
		if ended != nil {
			m.Text, m.Failed = fmt.Sprintf("This call was not made: %v.", ended), true
		} else {
			m.Text, m.Failed = t.call(c)
		}
		if err := t.keep(m, nil); err != nil {
			return err
		}
	}
	return ended
}

// call makes a call and returns its result as the model reads it.
func (t *turn) call(c Call) (text string, failed bool) {
	c.Tool = t.offered.named(c.Tool)
	t.emit(Event{Kind: CallEvent, Call: &c})
	result := t.tools.Call(session.WithRequest(t.ctx, session.RequestInfo{CallID: c.ID}), c.Tool, c.Arguments, func(e session.Event) {
		t.emit(Event{Kind: OutputEvent, Call: &c, Output: &e})
	})
	t.emit(Event{Kind: ResultEvent, Call: &c, Result: result})
	return asData(c.Tool, resultText(result)), result.Err != nil
}
