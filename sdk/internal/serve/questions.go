package serve

import (
	"context"
	"errors"
	"sync"

	"github.com/picoclaw/picoclaw/internal/pausable"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

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
