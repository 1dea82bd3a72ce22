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

// Call serves the calls of a stream, one after another, in one goroutine, whose grown stack is reused.
func (s *service) Call(stream pluginpb.Plugin_CallServer) error {
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

// serveCall runs the requested tool and sends its events, and finally its result. It returns only transport errors;
// tool errors are in the result. Answers to forms arrive on the stream.
func (s *service) serveCall(
	ctx context.Context, req *pluginpb.CallRequest, send func(*pluginpb.CallEvent) error, in *requestReader,
) error {
	tool, ok := s.tools[req.GetTool()]
	if !ok {
		return status.Errorf(codes.NotFound, "the plugin %s has no tool %q", s.plugin.ID, req.GetTool())
	}
	env, err := s.beginCall()
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

	events := &callStream{send: send, broken: cancel}
	c := s.newCall(env, req.GetArguments(), events.sendEvent)
	c.Agreed, c.NoOutput = req.GetAgreed(), req.GetNoOutput()
	c.TraceParent, c.TraceState = req.GetTraceParent(), req.GetTraceState()
	if req.GetAnswers() {
		asks := &callQuestions{call: ctx, in: in, emit: events.sendEvent}
		defer asks.waitForQuestions()
		c.Ask = asks.ask
	}
	result := s.runTool(ctx, tool, c)
	cancel()
	defer s.idle.Reset(idleTime)
	return events.sendResult(result)
}

// callStream sends the events of one call. Events after the result are dropped, since the next call uses the stream.
type callStream struct {
	send   func(*pluginpb.CallEvent) error
	broken func() // ends the call, since nobody listens any more

	mu    sync.Mutex // a stream takes one sender at a time
	ended bool
}

func (o *callStream) sendEvent(e *pluginpb.CallEvent) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.ended && o.send(e) != nil {
		o.broken()
	}
}

func (o *callStream) sendResult(r *pluginpb.Result) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	return o.send(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_Result{Result: r}})
}
