package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// CodeUnknown is the error of a call that was perhaps made.
const CodeUnknown = "unknown"

// call is a call on its way.
type call struct {
	session   *Session
	client    *Client
	request   request
	arguments []byte
	answers   <-chan *nats.Msg
	done      func()

	sent    int       // attempts, and questions about them
	open    int       // the number of the attempt that is asked about; zero where the next one may be made
	at      time.Time // when it was made
	first   tenure    // the one in which an attempt was made first that somebody may have taken, or may; zero for none
	firstIs int       // the number of that attempt
	heard   time.Time
	away    error // why the agent's worker was not found when it was looked up last

	events    func(session.CallEvent)
	deliver   chan delivery // to whoever gives them on, who may be slow
	delivered chan struct{} // closed when all have been given on
}

// delivery is an event, or the note that those before a number will not come any more.
type delivery struct {
	seq  uint64
	head *event
	body []byte
}

func newCall(s *Session, tool string, arguments []byte, events func(session.CallEvent)) *call {
	c := &call{session: s, client: s.client, arguments: arguments, events: events, heard: time.Now(),
		request: request{Origin: s.origin, Tool: tool, Events: events != nil}}
	c.request.ID, c.answers, c.done = s.client.await()
	c.request.Digest = digest(&c.request, s.agent, arguments)
	return c
}

// run sees the call through.
func (c *call) run(ctx context.Context) *session.Result {
	defer c.done()
	if len(c.arguments) > pluginpb.MaxArgumentBytes {
		return failed(pluginpb.CodeInvalidArgument, fmt.Sprintf("the arguments are %d bytes long; at most %d are passed on",
			len(c.arguments), pluginpb.MaxArgumentBytes))
	}
	if c.events != nil {
		c.deliver, c.delivered = make(chan delivery, 4*window), make(chan struct{})
		telling, enough := context.WithCancel(ctx) // of a call that has ended no worker needs to be told
		go c.giveOn(telling)
		defer func() { close(c.deliver); enough(); <-c.delivered }()
	}
	next := time.NewTimer(0)
	defer next.Stop()
	for {
		select {
		case <-ctx.Done():
			return c.cancelled(ctx)
		case <-next.C:
			if silent := time.Since(c.heard); silent > lostAfter {
				why := fmt.Sprintf("nothing was heard of the worker of agent %s for %s", c.session.agent, silent.Round(time.Second))
				if c.away != nil {
					why += ": " + c.away.Error()
				}
				return c.lost(why)
			}
			wait, err := c.ask(ctx)
			if err != nil {
				return c.lost(err.Error())
			}
			next.Reset(wait)
		case m := <-c.answers:
			wait, result := c.answer(ctx, m)
			if result != nil {
				return result
			}
			if wait >= 0 {
				next.Reset(wait)
			}
		}
	}
}

// ask makes an attempt, or asks what has become of those before. It returns when to ask again.
func (c *call) ask(ctx context.Context) (time.Duration, error) {
	p, err := c.client.place(ctx, c.session.agent)
	c.away = err
	if errors.Is(err, ErrNowhere) && time.Since(c.heard) > placeWait && c.first.epoch == 0 {
		return 0, err
	}
	if err != nil {
		return retryEvery, nil // NATS does not answer, or the agent is being moved
	}
	r := c.request
	r.Epoch, r.First, r.Life, r.Probe = p.epoch, c.first.epoch, c.first.instance, c.open > 0
	if left, bounded := ctx.Deadline(); bounded {
		r.LeftMS = max(1, time.Until(left).Milliseconds())
	}
	c.sent++
	if r.Probe {
		if time.Since(c.heard) > probeEvery { // it may be with somebody else
			c.client.forget(c.session.agent)
		}
		_ = c.client.publish(c.session.agent, subject.Call, c.sent, r, nil) // or it is asked again
		return probeEvery, nil
	}
	c.at = time.Now()
	parts := max(1, (len(c.arguments)+maxChunk-1)/maxChunk)
	for i := range parts {
		part := c.arguments[min(i*maxChunk, len(c.arguments)):min((i+1)*maxChunk, len(c.arguments))]
		if parts > 1 {
			r.Part, r.Parts = i+1, parts
		}
		if err := c.client.publish(c.session.agent, subject.Call, c.sent, r, part); err != nil {
			return retryEvery, nil // it has not gone, or not all of it, which is nothing
		}
	}
	c.open = c.sent
	if c.first.epoch == 0 {
		c.first, c.firstIs = tenure{p.epoch, p.Instance}, c.sent
	}
	return probeEvery, nil
}

// answer reads a worker's message. It returns the result, or else the time until the next request; less than zero for
// none.
func (c *call) answer(ctx context.Context, m *nats.Msg) (wait time.Duration, _ *session.Result) {
	if nobody(m) {
		c.bounced(m, true)
		return retryEvery, nil
	}
	r, body, err := c.client.read(ctx, m.Data)
	if err != nil {
		if r == nil {
			return 0, c.lost(err.Error())
		}
		return 0, unknown(c.request.Tool, "the call was made, and its answer did not come: "+err.Error())
	}
	switch r.Kind {
	case kindAnswer:
		if r.Result == nil {
			return 0, unknown(c.request.Tool, "the worker has answered with nothing")
		}
		return 0, &session.Result{Text: string(body), Structured: r.Result.Structured, Content: r.Result.Content,
			Err: r.Result.Err, Answered: r.Result.Answered}
	case kindEvent, kindRunning: // which has no event
		c.heard = time.Now()
		c.pass(delivery{r.Seq, r.Event, body})
	case kindUnseen:
		// An attempt may still be on its way. So the next one says which was the first: whoever has not had the agent
		// then does not take it.
		c.heard, c.open = time.Now(), 0
		return 0, nil
	case kindMoved:
		// The attempt may have come here late, or twice, and been taken by whoever had the agent before; not if this
		// worker had the agent when the attempt was made.
		c.bounced(m, time.Duration(r.HeldMS)*time.Millisecond > time.Since(c.at))
		return retryEvery, nil
	case kindClosing:
		c.bounced(m, true)
		return retryEvery, nil
	case kindBusy:
		c.heard, c.open = time.Now(), 0
		return retryEvery, nil
	case kindUnknown:
		return 0, unknown(c.request.Tool, r.Why)
	case kindRefused:
		return 0, failed(pluginpb.CodeUnavailable, r.Why)
	}
	return -1, nil
}

// bounced notes that an attempt has come back. That nobody has taken it is sure, or not; that a question about one has
// come back says nothing about the attempt.
func (c *call) bounced(m *nats.Msg, surely bool) {
	c.client.forget(c.session.agent)
	_, n := numbered(m.Subject)
	if n != c.open || !surely {
		return
	}
	c.open = 0
	if n == c.firstIs {
		c.first, c.firstIs = tenure{}, 0
	}
}

// pass gives an event on, to whoever may be slow.
func (c *call) pass(d delivery) {
	if c.deliver == nil {
		return
	}
	select {
	case c.deliver <- d:
	default: // a worker that does not wait has no more said
	}
}

// giveOn gives events on, and tells the worker how far it is.
func (c *call) giveOn(ctx context.Context) {
	defer close(c.delivered)
	done, told := uint64(0), uint64(0)
	for d := range c.deliver {
		if d.head != nil {
			c.events(d.head.host(d.body))
		}
		done = max(done, d.seq)
		if done-told >= window/2 || d.head == nil && done > told {
			told = done
			c.tell(ctx, subject.Credit, done)
		}
	}
}

// tell says something about the call to its worker.
func (c *call) tell(ctx context.Context, verb string, seen uint64) {
	if p, err := c.client.place(ctx, c.session.agent); err == nil {
		_ = c.client.publish(c.session.agent, verb, 0, request{ID: c.request.ID, Epoch: p.epoch, Seen: seen}, nil) // or later
	}
}

// cancelled tells the worker that the call is to end, and waits a moment for what it says.
func (c *call) cancelled(ctx context.Context) *session.Result {
	grace := cancelGrace
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		grace = endGrace // the worker knows the deadline
	}
	soon, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	tick := time.NewTicker(retryEvery)
	defer tick.Stop()
	for c.first.epoch != 0 {
		c.tell(soon, subject.Cancel, 0)
		select {
		case <-soon.Done():
			return c.lost("the call was cancelled, and the worker of agent " + c.session.agent + " did not say how it ended")
		case <-tick.C:
		case m := <-c.answers:
			if _, result := c.answer(soon, m); result != nil {
				return result
			}
		}
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failed(pluginpb.CodeTimeout, fmt.Sprintf("%s was not made in time: the worker of agent %s was not reached",
			c.request.Tool, c.session.agent))
	}
	return failed(pluginpb.CodeCancelled, c.request.Tool+" was cancelled")
}

// lost is the result of a call whose answer does not come.
func (c *call) lost(why string) *session.Result {
	if c.first.epoch != 0 {
		return unknown(c.request.Tool, why)
	}
	return &session.Result{Err: &session.Error{Code: pluginpb.CodeUnavailable,
		Message: fmt.Sprintf("%s was not called: %s", c.request.Tool, why),
		Hint:    "`picoclaw fleet status` shows which workers there are"}}
}

func failed(code, message string) *session.Result {
	return &session.Result{Err: &session.Error{Code: code, Message: message}}
}

func unknown(tool, why string) *session.Result {
	return &session.Result{Err: &session.Error{Code: CodeUnknown,
		Message: fmt.Sprintf("nobody knows whether %s was called, or how it ended: %s", tool, why),
		Hint:    "it is not called again by itself; look at what it would have changed first"}}
}
