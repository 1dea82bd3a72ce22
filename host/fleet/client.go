package fleet

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/fleet/subject"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// The times of callers.
const (
	probeEvery  = 2 * time.Second // a call that says nothing is asked for
	retryEvery  = 100 * time.Millisecond
	lostAfter   = 20 * time.Second // a worker that says nothing for so long is not waited for
	placeWait   = 2 * time.Second  // an agent that no worker has may be on its way to another one
	cancelGrace = 3 * time.Second  // how long a worker may take to say that a call has been cancelled
	endGrace    = time.Second      // and how a call ended whose time is over
)

// mostPlaces is how many agents' places a client remembers. Of more than that, those that are asked for are looked up.
const mostPlaces = 10_000

// Client makes calls on agents of a fleet. It may be used concurrently.
type Client struct {
	fleet *Fleet
	name  string // where it is answered, of all callers it alone
	subs  []*nats.Subscription

	pending sync.Map // chan *nats.Msg by id
	mu      sync.Mutex
	places  map[string]*place
}

// NewClient makes a client.
func NewClient(f *Fleet) (*Client, error) {
	c := &Client{fleet: f, name: f.caller + "." + rand.Text(), places: map[string]*place{}}
	for of, take := range map[string]nats.MsgHandler{subject.AllAnswers(f.tenant, c.name+".*"): c.deliver,
		subject.AllAnswers(f.tenant, subject.Changed): c.moved} {
		sub, err := f.conn.Subscribe(of, take)
		if err != nil {
			c.Close()
			return nil, fmt.Errorf("listen for the fleet's answers: %w", err)
		}
		c.subs = append(c.subs, sub)
	}
	return c, nil
}

// Close ends what the client listens to.
func (c *Client) Close() {
	for _, sub := range c.subs {
		_ = sub.Unsubscribe()
	}
}

// moved has an agent looked up again that may be with another worker now.
func (c *Client) moved(m *nats.Msg) {
	words := strings.Split(m.Subject, ".") // as Fleet.changed has them
	c.forget(words[len(words)-2])
}

// deliver gives an answer to whoever waits for it. It never waits: a caller that is behind has a worker that waits.
func (c *Client) deliver(m *nats.Msg) {
	id, _ := numbered(m.Subject)
	to, waiting := c.pending.Load(id)
	if !waiting {
		return
	}
	select {
	case to.(chan *nats.Msg) <- m:
	default:
	}
}

// await has answers come to a caller. Call done at the end.
func (c *Client) await() (id string, answers <-chan *nats.Msg, done func()) {
	id = rand.Text()
	in := make(chan *nats.Msg, 4*window)
	c.pending.Store(id, in)
	return id, in, func() { c.pending.Delete(id) }
}

// place returns who has an agent, as far as is known.
func (c *Client) place(ctx context.Context, agent string) (*place, error) {
	c.mu.Lock()
	known := c.places[agent]
	c.mu.Unlock()
	if known != nil {
		return known, nil
	}
	ctx, cancel := context.WithTimeout(ctx, placeWait)
	defer cancel()
	found, err := c.fleet.where(ctx, agent)
	if err == nil && found.Sent != nil {
		err = errMoving
	}
	if err != nil {
		return nil, err
	}
	c.remember(agent, found)
	return found, nil
}

// remember notes who has an agent, in the place of another one if there are many.
func (c *Client) remember(agent string, p *place) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.places) >= mostPlaces {
		for one := range c.places { // no matter which
			delete(c.places, one)
			break
		}
	}
	c.places[agent] = p
}

// forget has an agent looked up again.
func (c *Client) forget(agent string) {
	c.mu.Lock()
	delete(c.places, agent)
	c.mu.Unlock()
}

// numbered takes apart the last word of a subject that is answered on: whose call it is, and which of its attempts.
func numbered(at string) (id string, n int) {
	id, number, _ := strings.Cut(at[strings.LastIndexByte(at, '.')+1:], "-")
	n, _ = strconv.Atoi(number) // or it is none of a call's
	return id, n
}

// publish asks an agent's worker for something, by an attempt that has a number. Nothing is kept for later: an error
// says that it has not gone.
func (c *Client) publish(agent, verb string, n int, r request, body []byte) error {
	r.envelope = sealed()
	data, err := encode(r, body)
	if err != nil {
		return err
	}
	answered := c.fleet.from(agent) + c.name + "." + r.ID + "-" + strconv.Itoa(n)
	return c.fleet.conn.PublishRequest(c.fleet.to(agent, verb), answered, data)
}

// nobody reports whether an answer is NATS's, that nobody listens.
func nobody(m *nats.Msg) bool { return len(m.Data) == 0 && m.Header.Get("Status") == "503" }

// Session opens a session of an agent: it has that agent's tools, wherever its workspace is.
func (c *Client) Session(ctx context.Context, agent string, origin session.Origin) (*Session, error) {
	if !tokenPattern().MatchString(agent) {
		return nil, fmt.Errorf("there is no agent %q in the fleet: %w", agent, ErrNowhere)
	}
	s := &Session{client: c, agent: agent, origin: origin}
	if err := s.refresh(ctx); err != nil {
		return nil, err
	}
	return s, nil
}

// list asks an agent's worker for its tools.
func (c *Client) list(ctx context.Context, agent string, origin session.Origin) (*toolList, error) {
	ctx, cancel := context.WithTimeout(ctx, lostAfter)
	defer cancel()
	id, answers, done := c.await()
	defer done()
	began := time.Now()
	for {
		p, err := c.place(ctx, agent)
		if errors.Is(err, ErrNowhere) && time.Since(began) > placeWait {
			return nil, fmt.Errorf("there is no agent %q in the fleet: %w; `picoclaw fleet status` shows which there are",
				agent, err)
		}
		why, wait := err, retryEvery
		if err == nil && c.publish(agent, subject.Tools, 0, request{ID: id, Epoch: p.epoch, Origin: origin}, nil) == nil {
			wait = probeEvery
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("the worker of agent %s does not answer: %w", agent, cmp.Or(why, ctx.Err()))
		case <-time.After(wait):
			c.forget(agent)
		case m := <-answers:
			list, err := c.listed(ctx, m)
			if list != nil || err != nil {
				return list, err
			}
			c.forget(agent)
			time.Sleep(retryEvery)
		}
	}
}

// listed reads an answer about tools; nil if it is to be asked again.
func (c *Client) listed(ctx context.Context, m *nats.Msg) (*toolList, error) {
	if nobody(m) {
		return nil, nil
	}
	r, body, err := c.read(ctx, m.Data)
	if err != nil {
		return nil, err
	}
	switch r.Kind {
	case kindTools:
		list := new(toolList)
		if err := json.Unmarshal(body, list); err != nil {
			return nil, fmt.Errorf("the worker's list of tools can't be read: %w", err)
		}
		if err := list.check(); err != nil {
			return nil, fmt.Errorf("the worker's list of tools is none that a host gives: %w", err)
		}
		return list, nil
	case kindRefused, kindUnknown:
		return nil, errors.New(r.Why)
	}
	return nil, nil
}

// check says what is wrong with a list, which whoever has a worker's key may have made up.
func (l *toolList) check() error {
	plugins, names := map[string][]pluginpb.ToolSpec{}, map[string]bool{}
	for _, t := range l.Tools {
		switch {
		case t.Spec == nil:
			return fmt.Errorf("tool %q of plugin %q does not say what it is", t.Name, t.Plugin)
		case names[t.Name] || t.Name != t.Spec.Name && t.Name != t.Plugin+"."+t.Spec.Name:
			return fmt.Errorf("tool %q of plugin %q is called %q", t.Spec.Name, t.Plugin, t.Name)
		}
		names[t.Name] = true
		plugins[t.Plugin] = append(plugins[t.Plugin], *t.Spec)
	}
	for id, tools := range plugins {
		if err := cmp.Or(pluginpb.CheckPluginID(id), pluginpb.CheckTools(id, tools)); err != nil {
			return err
		}
	}
	return nil
}

// read reads an answer, from where it lies.
func (c *Client) read(ctx context.Context, data []byte) (*reply, []byte, error) {
	r, body, err := decode[reply](data)
	if err != nil || r.Kind != kindLarge {
		return r, body, err
	}
	if data, err = c.fleet.fetch(ctx, r.Object, r.Digest); err != nil {
		return r, nil, err
	}
	return decode[reply](data)
}

// refreshEvery is how often tools are asked for again at most.
const refreshEvery = time.Second

// Session is a way to an agent whose workspace is elsewhere. It looks like a [session.Session], and decides nothing. It
// may be used concurrently.
type Session struct {
	client *Client
	agent  string
	origin session.Origin
	list   atomic.Pointer[toolList]
}

// Tools lists the tools that the agent may call, from its worker's latest message.
func (s *Session) Tools() []session.Tool { return s.list.Load().Tools }

// Instructions tell a model where it is.
func (s *Session) Instructions() string { return s.list.Load().Instructions }

// refresh asks for the tools again.
func (s *Session) refresh(ctx context.Context) error {
	list, err := s.client.list(ctx, s.agent, s.origin)
	if err == nil {
		s.list.Store(list)
	}
	return err
}

// Changes says when the tools may be others than before, until ctx is done.
func (s *Session) Changes(ctx context.Context) <-chan struct{} {
	changes := make(chan struct{}, 1)
	told := make(chan *nats.Msg, 1)
	sub, err := s.client.fleet.conn.Subscribe(s.client.fleet.changed(s.agent), func(m *nats.Msg) {
		select {
		case told <- m:
		default:
		}
	})
	if err != nil {
		close(changes)
		return changes
	}
	go func() {
		defer close(changes)
		defer func() { _ = sub.Unsubscribe() }()
		for {
			select {
			case <-ctx.Done():
				return
			case <-told:
			}
			if s.refresh(ctx) != nil {
				continue // what is called is decided on by the worker
			}
			select {
			case changes <- struct{}{}:
			default:
			}
			_ = wait(ctx, refreshEvery) // whoever says it too often is not asked as often
		}
	}()
	return changes
}

// Call calls a tool, as [session.Session.Call] does. It ends with the worker's answer, or by the end of ctx, or when
// the worker can't be reached for a while; then the error says whether the call was not made, or that nobody knows.
func (s *Session) Call(ctx context.Context, tool string, arguments json.RawMessage,
	events func(session.CallEvent)) *session.Result {
	began := time.Now()
	c := newCall(s, tool, arguments, events)
	result := c.run(ctx)
	result.Duration = time.Since(began)
	return result
}
