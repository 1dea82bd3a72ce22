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

// requestReader reads messages of a stream for one reader at a time: the service between calls, a question during a
// call.
type requestReader struct {
	receive func() (*pluginpb.CallRequest, error)
	waiting chan receivedRequest // result of a pending receive; nil if there is none
}

type receivedRequest struct {
	request *pluginpb.CallRequest
	err     error
}

// nextRequest returns the next message, or an error if done is closed first.
func (in *requestReader) nextRequest(done <-chan struct{}) (*pluginpb.CallRequest, error) {
	if in.waiting == nil && done == nil {
		return in.receive()
	}
	if in.waiting == nil {
		waiting := make(chan receivedRequest, 1)
		in.waiting = waiting
		go func() {
			request, err := in.receive()
			waiting <- receivedRequest{request, err}
		}()
	}
	select {
	case r := <-in.waiting:
		in.waiting = nil
		return r.request, r.err
	case <-done:
		return nil, errNotAnswered
	}
}

var errNotAnswered = errors.New("the question was not answered")

// callQuestioner sends the questions of one call, one at a time.
type callQuestioner struct {
	call context.Context // no answer is waited for when it is done
	in   *requestReader
	emit func(*pluginpb.CallEvent)

	mu   sync.Mutex // held while an answer is waited for
	last uint32
}

// ask sends a question to the caller and waits for the answer. Meanwhile the call's timeout is paused.
func (q *callQuestioner) ask(ctx context.Context, question *pluginpb.Question) (*pluginpb.Answer, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.call.Err() != nil {
		return nil, q.call.Err()
	}
	defer pausable.Pause(q.call)()
	q.last++
	question.Id = q.last
	q.emit(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_Question{Question: question}})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.call, cancel)()
	for {
		request, err := q.in.nextRequest(ctx.Done())
		switch answer := request.GetAnswer(); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		case answer == nil:
			return nil, errors.New("the host started another call before this one ended")
		case answer.GetId() == q.last:
			return answer, nil
		}
	}
}

// waitForQuestions waits for cancelled questions to finish, so that the next message belongs to the next call.
func (q *callQuestioner) waitForQuestions() {
	q.mu.Lock()
	defer q.mu.Unlock()
}
