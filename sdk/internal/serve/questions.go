package serve

import (
	"context"
	"errors"
	"sync"

	"github.com/picoclaw/picoclaw/internal/pausable"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// incoming is what comes in on a stream of calls. It is read by one at a time: between calls by whoever waits for the
// next, during one by its question.
type incoming struct {
	receive func() (*pluginpb.CallRequest, error)
	waiting chan received // what has been asked for and not been taken; nil if nothing has
}

type received struct {
	request *pluginpb.CallRequest
	err     error
}

// next returns what comes next. Where done comes before, that is left to whoever asks then.
func (in *incoming) next(done <-chan struct{}) (*pluginpb.CallRequest, error) {
	if in.waiting == nil && done == nil {
		return in.receive()
	}
	if in.waiting == nil {
		waiting := make(chan received, 1)
		in.waiting = waiting
		go func() {
			request, err := in.receive()
			waiting <- received{request, err}
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

// questions are those of one call, one at a time.
type questions struct {
	call context.Context // no answer is waited for when it is done
	in   *incoming
	emit func(*pluginpb.CallEvent)

	mu   sync.Mutex // held while an answer is waited for
	last uint32
}

// ask puts a question to the caller and waits for the answer. The call's time stands still meanwhile.
func (q *questions) ask(ctx context.Context, message string, schema []byte) (*pluginpb.Answer, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.call.Err() != nil {
		return nil, q.call.Err()
	}
	defer pausable.Pause(q.call)()
	q.last++
	q.emit(&pluginpb.CallEvent{Event: &pluginpb.CallEvent_Question{
		Question: &pluginpb.Question{Id: q.last, Message: message, Schema: schema},
	}})
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.call, cancel)()
	for {
		request, err := q.in.next(ctx.Done())
		switch answer := request.GetAnswer(); {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil:
			return nil, err
		case answer == nil:
			return nil, errors.New("the host goes on to another call before this one has ended")
		case answer.GetId() == q.last:
			return answer, nil
		}
	}
}

// end waits for questions that the call's end has ended, so that what comes in next is for the next call.
func (q *questions) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
}
