package fleet

import (
	"context"
	"encoding/json"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/picoclaw/picoclaw/host/session"
)

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

// Tools lists what the agent may call, as its worker has said it last.
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
