package fleet

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

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
)

// What an admin tells a worker to do.
const (
	doDrain  = "drain"  // give all agents away, and take none
	doExpect = "expect" // an agent's workspace will come
	doSend   = "send"   // an agent's workspace to another worker
	doTell   = "tell"   // how far a move is
)

// order is what an admin tells a worker to do. A move has a key, which the admin has made up for it: the two workers
// know by it what the other one has said.
type order struct {
	envelope
	Do    string `json:"do"`
	Agent string `json:"agent,omitempty"`
	Peer  string `json:"peer,omitempty"` // the other worker
	Key   string `json:"key,omitempty"`
}

// answer is what a worker says to an order.
type answer struct {
	envelope
	Refused string `json:"refused,omitempty"` // why not; empty when it is done or will be
	State   string `json:"state,omitempty"`   // how far it is
	Holds   bool   `json:"holds,omitempty"`   // the copy of what was sent has not been seen to
}

const orderWait = 8 * time.Second // the hub lets a worker answer for ten

// order has a worker do something.
func (f *Fleet) order(ctx context.Context, worker string, o order) (*answer, error) {
	o.envelope = sealed()
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, orderWait)
	defer cancel()
	at := subject.Reports(f.tenant, worker) + rand.Text()
	reports, err := f.conn.SubscribeSync(at)
	if err != nil {
		return nil, err
	}
	defer func() { _ = reports.Unsubscribe() }()
	if err = f.conn.PublishRequest(subject.Orders(f.tenant, worker), at, data); err != nil {
		return nil, err
	}
	m, err := reports.NextMsgWithContext(ctx)
	if errors.Is(err, nats.ErrNoResponders) || err == nil && nobody(m) {
		return nil, fmt.Errorf("there is no worker %s in the fleet now; `picoclaw fleet status` shows which there are",
			worker)
	}
	if err != nil {
		return nil, fmt.Errorf("the worker %s does not answer: %w", worker, err)
	}
	a := &answer{}
	if err := json.Unmarshal(m.Data, a); err != nil {
		return nil, fmt.Errorf("what the worker %s says can't be read: %w", worker, err)
	}
	if err := a.check(); err != nil {
		return nil, err
	}
	if a.Refused != "" {
		return nil, fmt.Errorf("the worker %s does not do it: %s", worker, a.Refused)
	}
	return a, nil
}

// lookEvery is how often it is looked how far an order is.
const lookEvery = 200 * time.Millisecond

// Drain has a worker give its agents away, to whoever has them in the configuration, and take none until it is started
// again. It returns when it has none.
func (f *Fleet) Drain(ctx context.Context, worker string) error {
	if _, err := f.order(ctx, worker, order{Do: doDrain}); err != nil {
		return err
	}
	for {
		workers, _, err := f.Status(ctx)
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(workers, func(w Sign) bool { return w.Worker == worker && (!w.Drained || w.Agents > 0) }) {
			return nil
		}
		if err := wait(ctx, lookEvery); err != nil {
			return fmt.Errorf("the worker %s goes on giving its agents away: %w", worker, err)
		}
	}
}

// Move has an agent's workspace brought to another worker, which has the agent then. It returns when that one has taken
// it and the first one has seen to its copy, or when the first one has the agent again, with why. say is told how far
// it is.
func (f *Fleet) Move(ctx context.Context, agent, to string, say func(state string)) error {
	before, err := f.where(ctx, agent)
	if err != nil {
		return fmt.Errorf("agent %s: %w; `picoclaw fleet status` shows which there are", agent, err)
	}
	from := before.Worker
	switch {
	case before.Sent != nil:
		return fmt.Errorf("agent %s is on its way from %s to %s already", agent, before.Sent.From, from)
	case from == to:
		return fmt.Errorf("the worker %s has agent %s already", to, agent)
	}
	key := rand.Text()
	if _, err := f.order(ctx, to, order{Do: doExpect, Agent: agent, Peer: from, Key: key}); err != nil {
		return err
	}
	if _, err := f.order(ctx, from, order{Do: doSend, Agent: agent, Peer: to, Key: key}); err != nil {
		return err
	}
	kept := (&move{Agent: agent, Key: key}).proof(proofKept)
	told, taken, heard := "", false, time.Now()
	for {
		p, err := f.last(ctx, agent)
		switch {
		case err != nil || p == nil:
		case p.Kept == kept:
			taken = true
		case taken: // what the first one waits for is not there any more
			say("agent " + agent + " has gone on from " + to + " already")
			return nil
		case p.Worker == from && p.epoch > before.epoch:
			p.Why = cmp.Or(p.Why, "the move was given up")
			return fmt.Errorf("agent %s stays with %s: %s", agent, from, p.Why)
		}
		a, err := f.order(ctx, from, order{Do: doTell, Agent: agent, Key: key})
		switch {
		case err == nil:
			heard = time.Now()
			if a.State != told && a.State != "" {
				told = a.State
				say(told)
			}
			if taken && !a.Holds {
				return nil
			}
		case taken && time.Since(heard) > orderWait:
			say("the copy on " + from + " is removed when that is there again: " + err.Error())
			return nil
		}
		if err := wait(ctx, lookEvery); err != nil {
			return fmt.Errorf("the move of agent %s goes on, and `picoclaw fleet where %s` tells how it ends: %w", agent, agent,
				err)
		}
	}
}

// wait waits, unless the context ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// hears takes orders in one life of the worker: they are done one at a time, where the agents are taken.
func (w *Worker) hears(ctx context.Context) (*nats.Subscription, error) {
	return w.fleet.conn.Subscribe(subject.Orders(w.fleet.tenant, w.options.Name), func(m *nats.Msg) {
		if !strings.HasPrefix(m.Reply, subject.Reports(w.fleet.tenant, w.options.Name)) {
			return // it is no admin's: see served.mayBe
		}
		select {
		case w.orders <- m:
		case <-ctx.Done():
		}
	})
}

// obey does what an admin says, or begins to.
func (w *Worker) obey(l *life, m *nats.Msg) {
	o, a := &order{}, answer{}
	err := json.Unmarshal(m.Data, o)
	if err == nil {
		err = o.check()
	}
	switch {
	case err != nil:
	case o.Do == doDrain:
		w.log.Info("the worker is drained: it takes no agent until it is started again")
		w.mu.Lock()
		w.drained = true
		w.mu.Unlock()
	case o.Do == doExpect:
		err = w.expect(l.ctx, o)
	case o.Do == doSend:
		err = w.send(l, o)
	case o.Do == doTell:
		a.State, a.Holds = w.told(o)
	default:
		err = fmt.Errorf("it does not know how to %q; is it an older picoclaw?", o.Do)
	}
	if err != nil {
		a.Refused = err.Error()
	}
	a.envelope = sealed()
	if data, err := json.Marshal(a); err == nil {
		_ = m.Respond(data) // or it is asked again
	}
}

// begin does something about an agent beside all else; nothing else is done about it meanwhile. The lock is held.
func (w *Worker) begin(l *life, agent string, do func(context.Context)) {
	w.busy[agent] = true
	l.going.Go(func() {
		do(l.ctx)
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.busy, agent)
	})
}

// release lets what runs for an agent end, and has others take it.
func (s *served) release(ctx context.Context) {
	w := s.worker
	w.finish(ctx, s)
	w.lose(s)
	if err := w.fleet.leave(ctx, s.agent, w.options.Name, s.kept, s.epoch); err != nil {
		w.log.Warn("an agent is not given away yet", "agent", s.agent, "error", err)
	}
	w.given.Add(1)
}

// finish takes no call for an agent any more, and ends what runs after some time.
func (w *Worker) finish(ctx context.Context, s *served) {
	s.close()
	soon, cancel := context.WithTimeout(ctx, w.options.Drain)
	defer cancel()
	for s.busy() > 0 && wait(soon, lookEvery/4) == nil {
	}
	s.end()
}

// lose has an agent not be served any more.
func (w *Worker) lose(s *served) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.served[s.agent] == s {
		s.left.Store(true)
		delete(w.served, s.agent)
		w.left[s.agent] = s
	}
}
