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

// Call serves the calls of a stream one after another. A single goroutine serves them, so its grown stack is reused.
func (s *pluginService) Call(stream pluginpb.Plugin_CallServer) error {
	in := &requestReader{receive: stream.Recv}
	for {
		req, err := in.nextRequest(nil)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if req.GetAnswer() != nil {
			continue // nobody waits for it any more
		}
		if err := s.serveCall(stream.Context(), req, stream.Send, in); err != nil {
			return err
		}
	}
}

// serveCall runs the requested tool and sends its events, then its result. Tool errors are part of the result;
// serveCall returns only transport errors. Answers to questions arrive on the same stream.
func (s *pluginService) serveCall(
	ctx context.Context, req *pluginpb.CallRequest, send func(*pluginpb.CallEvent) error, in *requestReader,
) error {
	tool, ok := s.tools[req.GetTool()]
	if !ok {
		return status.Errorf(codes.NotFound, "the plugin %s has no tool %q", s.plugin.ID, req.GetTool())
	}
	env, err := s.admitCall()
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

	events := &callEventSender{send: send, broken: cancel}
	c := s.newToolCall(env, req.GetArguments(), events.sendEvent)
	c.Agreed, c.NoOutput = req.GetAgreed(), req.GetNoOutput()
	c.TraceParent, c.TraceState = req.GetTraceParent(), req.GetTraceState()
	if req.GetAnswers() {
		asks := &callQuestioner{call: ctx, in: in, emit: events.sendEvent}
		defer asks.waitForQuestions()
		c.Ask = asks.ask
	}
	result := s.runTool(ctx, tool, c)
	cancel()
	defer s.idle.Reset(idleTime)
	return events.sendResult(result)
}

// callEventSender sends the events of one call. It drops events after the result, because the stream then belongs to
// the next call.
type callEventSender struct {
	send   func(*pluginpb.CallEvent) error
	broken func() // cancels the call after a send error

	mu    sync.Mutex // a stream takes one sender at a time
	ended bool
}

func (o *callEventSender) sendEvent(e *pluginpb.CallEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended && o.send(e) != nil {
		o.broken()
	}
}

func (o *callEventSender) sendResult(r *pluginpb.Result) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	return o.send(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_Result{Result: r}})
}
