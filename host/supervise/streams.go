package supervise

import (
	"context"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// idleStreams is how many streams without a call are kept open for the next ones. More calls at once open more.
const idleStreams = 8

// callStream is a stream that a call's events come on.
type callStream struct {
	pluginpb.Plugin_CallClient
	cancel context.CancelFunc
}

// Listener hears what a call has to tell before its result, in order.
type Listener struct {
	Ready func()                    // is told that the instance is there and takes the call; may be nil
	Event func(*pluginpb.CallEvent) // may be nil
	// Answer answers a question of the tool's, for as long as a person takes; nil where there is nobody to ask.
	Answer func(*pluginpb.Question) *pluginpb.Answer
}

// streams are an instance's streams that carry calls one after another. Opening one costs as much as a small call
// does, so one that brought its result is kept.
type streams struct {
	rpc pluginpb.PluginClient

	mu     sync.Mutex
	closed bool
	idle   []*callStream
}

// take returns a stream for one call.
func (s *streams) take() (*callStream, error) {
	s.mu.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		st := s.idle[last]
		s.idle = s.idle[:last]
		s.mu.Unlock()
		return st, nil
	}
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background()) // it outlives the call that it is opened for
	stream, err := s.rpc.Call(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return &callStream{stream, cancel}, nil
}

// put gives a stream back that brought its call's result.
func (s *streams) put(st *callStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.idle) == idleStreams {
		st.cancel()
		return
	}
	s.idle = append(s.idle, st)
}

// close ends the streams that no call is on, and has the others end with their calls.
func (s *streams) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, st := range s.idle {
		st.cancel()
	}
	s.idle = nil
}

// call makes one call on a stream. When ctx is done before the result is there, the stream ends, and with it the call.
func (s *streams) call(ctx context.Context, req *pluginpb.CallRequest, to Listener) (*pluginpb.Result, error) {
	if deadline, ok := ctx.Deadline(); ok {
		req.TimeoutMillis = max(1, time.Until(deadline).Milliseconds())
	}
	req.Answers = to.Answer != nil
	st, err := s.take()
	if err != nil {
		return nil, err
	}
	release := context.AfterFunc(ctx, st.cancel)
	result, err := untilResult(st, req, to)
	if release() && err == nil {
		s.put(st)
	} else {
		st.cancel()
	}
	return result, err
}

// untilResult sends a request, passes on the events that come before its result, and answers questions.
func untilResult(st *callStream, req *pluginpb.CallRequest, to Listener) (*pluginpb.Result, error) {
	// Recv returns the error that ended a stream; Send returns only io.EOF then.
	_ = st.Send(req)
	for {
		event, err := st.Recv()
		if err != nil {
			return nil, err
		}
		if result := event.GetResult(); result != nil {
			return result, nil
		}
		if q := event.GetQuestion(); q != nil {
			answer := &pluginpb.Answer{Error: "the plugin asks although it was told that there is nobody"}
			if to.Answer != nil {
				answer = to.Answer(q)
			}
			answer.Id = q.GetId()
			_ = st.Send(&pluginpb.CallRequest{Answer: answer})
		} else if to.Event != nil {
			to.Event(event)
		}
	}
}
