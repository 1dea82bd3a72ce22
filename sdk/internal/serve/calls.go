package serve

import (
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/picoclaw/picoclaw/internal/pausable"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// Call answers the calls on a stream, one after another. The goroutine that serves the stream keeps a stack that has
// grown to what a call takes, and nothing is set up again for the next call.
func (s *service) Call(stream pluginpb.Plugin_CallServer) error {
	in := &incoming{receive: stream.Recv}
	for {
		req, err := in.next(nil)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if req.GetAnswer() != nil {
			continue // nobody waits for it any more
		}
		if err := s.answer(stream.Context(), req, stream.Send, in); err != nil {
			return err
		}
	}
}

// answer runs the tool that a request asks for and sends what it has to tell, the result last. An error is about the
// way: what goes wrong in the tool is in its result. The answers to its questions come in behind the request.
func (s *service) answer(
	ctx context.Context, req *pluginpb.CallRequest, send func(*pluginpb.CallEvent) error, in *incoming,
) error {
	tool, ok := s.tools[req.GetTool()]
	if !ok {
		return status.Errorf(codes.NotFound, "the plugin %s has no tool %q", s.plugin.ID, req.GetTool())
	}
	env, err := s.enter()
	if err != nil {
		return err
	}
	defer s.calls.Done()

	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	if limit := req.GetTimeoutMillis(); limit > 0 {
		var done context.CancelFunc
		ctx, done = pausable.WithTimeout(ctx, time.Duration(limit)*time.Millisecond)
		defer done()
	}

	events := &outgoing{send: send, broken: cancel}
	c := s.newCall(env, req.GetArguments(), events.emit)
	c.Agreed = req.GetAgreed()
	c.TraceParent, c.TraceState = req.GetTraceParent(), req.GetTraceState()
	if req.GetAnswers() {
		asks := &questions{call: ctx, in: in, emit: events.emit}
		defer asks.end()
		c.Ask = asks.ask
	}
	result := s.run(ctx, tool, c)
	cancel()
	defer s.idle.Reset(rest)
	return events.end(result)
}

// outgoing is what one call sends. What a tool has left running may still have something to tell when the result is on
// its way: that is dropped, since the next call's events come on the same stream.
type outgoing struct {
	send   func(*pluginpb.CallEvent) error
	broken func() // ends the call, since nobody listens any more

	mu    sync.Mutex // a stream takes one sender at a time
	ended bool
}

func (o *outgoing) emit(e *pluginpb.CallEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended && o.send(e) != nil {
		o.broken()
	}
}

func (o *outgoing) end(r *pluginpb.Result) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	return o.send(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_Result{Result: r}})
}
