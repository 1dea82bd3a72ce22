package supervise

import (
	"context"
	"sync"
	"time"

	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// maxIdleStreams is the number of idle streams kept for later calls.
const maxIdleStreams = 8

// callStream is a gRPC stream that carries one call at a time.
type callStream struct {
	pluginpb.Plugin_CallClient
	cancel context.CancelFunc
}

// CallCallbacks receives the events of a call before its result, in order.
type CallCallbacks struct {
	Ready func()                    // called when the instance is ready; may be nil
	Event func(*pluginpb.CallEvent) // may be nil
	// Answer answers a question of the tool, after as long as a person needs; nil if nobody can answer.
	Answer func(*pluginpb.Question) *pluginpb.Answer
}

// streamPool holds an instance's gRPC streams for calls. A new stream costs as much as a small call, so streams are
// reused after a result.
type streamPool struct {
	rpc pluginpb.PluginClient

	mu     sync.Mutex
	closed bool
	idle   []*callStream
}

func (s *streamPool) acquireStream() (*callStream, error) {
	s.mu.Lock()
	if last := len(s.idle) - 1; last >= 0 {
		st := s.idle[last]
		s.idle = s.idle[:last]
		s.mu.Unlock()
		return st, nil
	}
	s.mu.Unlock()
	ctx, cancel := context.WithCancel(context.Background()) // the stream outlives this call
	stream, err := s.rpc.Call(ctx)
	if err != nil {
		cancel()
		return nil, err
	}
	return &callStream{stream, cancel}, nil
}

// releaseStream puts a stream back into the pool for later calls. Call it only after the stream delivered its result.
func (s *streamPool) releaseStream(st *callStream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.idle) == maxIdleStreams {
		st.cancel()
		return
	}
	s.idle = append(s.idle, st)
}

// closePool closes idle streams; the others close after their calls.
func (s *streamPool) closePool() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, st := range s.idle {
		st.cancel()
	}
	s.idle = nil
}

// callTool makes one call on a stream. If ctx ends before the result, it closes the stream, which cancels the call.
func (s *streamPool) callTool(ctx context.Context, req *pluginpb.CallRequest, listener CallCallbacks) (*pluginpb.Result, error) {
	if deadline, ok := ctx.Deadline(); ok {
		req.TimeoutMillis = max(1, time.Until(deadline).Milliseconds())
	}
	req.Answers = listener.Answer != nil
	st, err := s.acquireStream()
	if err != nil {
		return nil, err
	}
	stopCancel := context.AfterFunc(ctx, st.cancel)
	result, err := callOnStream(ctx, st, req, listener)
	if stopCancel() && err == nil {
		s.releaseStream(st)
	} else {
		st.cancel()
	}
	return result, err
}

// callOnStream sends a request, then passes on events and answers questions until the result arrives, or ctx ends.
func callOnStream(ctx context.Context, st *callStream, req *pluginpb.CallRequest, listener CallCallbacks) (*pluginpb.Result, error) {
	// Ignore Send's error, which is only io.EOF: Recv returns the cause.
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
			answer := &pluginpb.Answer{Error: "nobody can answer, according to the request"}
			if listener.Answer != nil {
				answer = listener.Answer(q)
			}
			if err := ctx.Err(); err != nil { // meanwhile
				return nil, err
			}
			answer.Id = q.GetId()
			_ = st.Send(&pluginpb.CallRequest{Answer: answer})
		} else if listener.Event != nil {
			listener.Event(event)
		}
	}
}
