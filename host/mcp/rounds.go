package mcp

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/session"
)

// Stateless protocol versions ask clients in rounds: the response to a call is a question, and the client repeats the
// call with the answer. Meanwhile the call is suspended. If the process has ended meanwhile, an approval question's
// answer counts for the repeated call. Older clients are asked by elicitation during the call.

// Limits of one server's suspended calls, and of their arguments.
const (
	maxSuspended      = 64
	maxSuspendedBytes = maxLargeBytes
)

// questionRounds asks the users of stateless clients in rounds: a response has the question, and the client repeats the
// call with the answer. The call is suspended between the rounds.
type questionRounds struct {
	states       *requestStateIssuer
	agent, token string
	tools        *toolset
	suspended    *sync.Map // suspended calls by the ids of their states
	tasks        *taskStore

	mu    sync.Mutex
	calls map[*suspendedCall]bool
	bytes int // of their arguments
}

// suspendedCalls are the suspended calls of all servers in this process, by the ids of their states. After a
// configuration reload, another server of the agent continues them.
var suspendedCalls sync.Map

// suspendedCall is a running call that may ask questions in rounds. Only one request at a time takes part in it.
type suspendedCall struct {
	cancel    context.CancelFunc
	asking    sync.Mutex // held during a question, because a call may have several at once
	questions chan *roundQuestion
	result    chan *session.Result
	pending   *roundQuestion // the question in the last response
	expire    *time.Timer    // ends the call if nobody answers
	approved  answeredApproval
	missing   []string // capabilities of the client that a question of the call needed

	mu           sync.Mutex
	events       func(session.CallEvent) // those of the request in progress; nil between rounds
	progress     string                  // the message of the latest event that has one
	progressTime time.Time
}

// answeredApproval is the answer to an approval question of an earlier process. The call starts again in this process,
// and uses the answer.
type answeredApproval struct {
	hash   [sha256.Size]byte
	result *mcp.ElicitResult // nil for none
}

// callOutcome is the response to a call: its result, or questions to the client.
type callOutcome struct {
	result    *session.Result
	questions mcp.InputRequestMap
	state     string // with which the client repeats the call
}

// roundQuestion is one question of a call, or several that the tool asked together.
type roundQuestion struct {
	requests mcp.InputRequestMap
	answers  chan mcp.InputResponseMap
}

func (q *roundQuestion) questionHash() [sha256.Size]byte {
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(q.requests)) {
		_, _ = h.Write(strconv.AppendQuote(nil, name)) // a hash takes every byte
		if form, ok := q.requests[name].(*mcp.ElicitParams); ok {
			_, _ = h.Write(strconv.AppendQuote(nil, form.Message))
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// chooseResponses returns the client's responses to the question; nil if a response is missing.
func (q *roundQuestion) chooseResponses(responses mcp.InputResponseMap) mcp.InputResponseMap {
	chosen := mcp.InputResponseMap{}
	for name, request := range q.requests {
		ok := false
		switch request.(type) {
		case *mcp.ElicitParams:
			_, ok = responses[name].(*mcp.ElicitResult)
		case *mcp.ListRootsParams:
			_, ok = responses[name].(*mcp.ListRootsResult)
		default:
			_, ok = responses[name].(*mcp.CreateMessageResult)
			if !ok {
				_, ok = responses[name].(*mcp.CreateMessageWithToolsResult)
			}
		}
		if !ok {
			return nil
		}
		chosen[name] = responses[name]
	}
	return chosen
}

// askClient passes a question to the request in progress, and suspends the call until the client answers. Without an
// answer in time the call is cancelled.
func (c *suspendedCall) askClient(ctx context.Context, requests mcp.InputRequestMap) (mcp.InputResponseMap, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	q := &roundQuestion{requests, make(chan mcp.InputResponseMap)}
	if before := c.approved; before.result != nil && before.hash == q.questionHash() {
		c.approved = answeredApproval{}
		return mcp.InputResponseMap{allowField: before.result}, nil
	}
	select {
	case c.questions <- q:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	select {
	case responses := <-q.answers:
		for name, request := range requests {
			form, ok := request.(*mcp.ElicitParams)
			if !ok {
				continue
			}
			if err := checkAndCompleteForm(form, responses[name].(*mcp.ElicitResult)); err != nil {
				return nil, err
			}
		}
		return responses, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// forwardEvent forwards an event of the call to the request in progress, if any, and keeps its message for a task.
func (c *suspendedCall) forwardEvent(e session.CallEvent) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Message != "" {
		c.progress, c.progressTime = e.Message, time.Now().UTC()
	}
	if c.events != nil {
		c.events(e)
	}
}

// setEventReceiver sets the receiver of the call's events; nil drops events.
func (c *suspendedCall) setEventReceiver(events func(session.CallEvent)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events = events
}

// latestProgress returns the message of the call's latest event that has one, and the event's time.
func (c *suspendedCall) latestProgress() (string, time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.progress, c.progressTime
}

// awaitQuestionOrResult passes an answer to the call's pending question, if any, and waits for the next question or the
// result. The end of ctx cancels the call. It returns neither if toTask receives first.
func (c *suspendedCall) awaitQuestionOrResult(ctx context.Context, answer mcp.InputResponseMap, toTask <-chan time.Time) (
	*roundQuestion, *session.Result,
) {
	defer context.AfterFunc(ctx, c.cancel)()
	var answers chan mcp.InputResponseMap
	if answer != nil {
		answers = c.pending.answers
	}
	for {
		select {
		case answers <- answer:
			answers = nil
		case q := <-c.questions:
			return q, nil
		case result := <-c.result:
			return nil, result
		case <-toTask:
			return nil, nil
		}
	}
}

// startOrContinueCall starts a call, or continues a suspended call, and returns its result or a question. The call is
// cancelled when life is done.
func (r *questionRounds) startOrContinueCall(ctx, life context.Context, s toolProvider, t session.Tool, req *mcp.CallToolRequest) (
	*callOutcome, error,
) {
	agent := r.agent
	if s != r.tools.session {
		agent += fmt.Sprintf(" %q", s.(localSession).Policy().Restriction())
	}
	call := newCallHash(agent, r.token, t.Name, req.Params.Arguments)
	c, answer, err := r.takeSuspendedCall(req.Params, call)
	if err != nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: err.Error() + "; repeat the call without requestState and inputResponses"}
	}
	started := c.questions != nil
	if !started && !r.startSuspendableCall(ctx, life, c, s, t, req) {
		return &callOutcome{result: r.tools.callWithEvents(ctx, s, t, req, req.Params.Arguments)}, nil
	}
	q, result := c.pending, (*session.Result)(nil)
	if !started || answer != nil { // otherwise the answer is missing, and the question is repeated
		events, end := r.tools.newEventForwarder(ctx, t, req)
		c.setEventReceiver(events)
		q, result = c.awaitQuestionOrResult(ctx, answer, newTaskTimer(t, req))
		c.setEventReceiver(nil)
		if q == nil && result == nil {
			if k := r.tasks.startTask(r.taskOwner(), c, t.Spec.TextResult); k != nil {
				end()
				return nil, &taskStartedError{k}
			}
			c.setEventReceiver(events)
			q, result = c.awaitQuestionOrResult(ctx, nil, nil)
			c.setEventReceiver(nil)
		}
		end()
	}
	if result != nil {
		c.cancel()
		if err := c.missingCapabilityError(result); err != nil {
			return nil, err
		}
		return &callOutcome{result: result}, nil
	}
	state, id := r.states.issueState(call, q.questionHash())
	c.pending = q
	c.expire = time.AfterFunc(questionTimeout, func() {
		if _, ok := r.suspended.LoadAndDelete(id); ok {
			c.cancel()
		}
	})
	r.suspended.Store(id, c)
	return &callOutcome{state: state, questions: q.requests}, nil
}

// takeSuspendedCall returns the suspended call that a request continues, with the client's answer or nil. For other
// requests it returns a new call that has not started.
func (r *questionRounds) takeSuspendedCall(p *mcp.CallToolParamsRaw, call callHash) (*suspendedCall, mcp.InputResponseMap, error) {
	if p.RequestState == "" {
		return &suspendedCall{}, nil, nil
	}
	id, question, err := r.states.redeemState(p.RequestState, call)
	if err != nil {
		return nil, nil, err
	}
	if known, ok := r.suspended.LoadAndDelete(id); ok {
		c := known.(*suspendedCall)
		c.expire.Stop()
		return c, c.pending.chooseResponses(p.InputResponses), nil
	}
	answer, _ := p.InputResponses[allowField].(*mcp.ElicitResult)
	if answer == nil {
		return nil, nil, errors.New("the call that asked has ended")
	}
	return &suspendedCall{approved: answeredApproval{question, answer}}, nil, nil
}

// startSuspendableCall starts a call that can be suspended. It returns false if too many calls can be suspended.
func (r *questionRounds) startSuspendableCall(ctx, life context.Context, c *suspendedCall, s toolProvider, t session.Tool,
	req *mcp.CallToolRequest) bool {
	arguments := req.Params.Arguments
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) >= maxSuspended || r.bytes+len(arguments) > maxSuspendedBytes {
		return false
	}
	r.calls[c], r.bytes = true, r.bytes+len(arguments)
	c.questions, c.result = make(chan *roundQuestion), make(chan *session.Result, 1)
	callCtx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // the call outlives its first request
	c.cancel = cancel
	stop := context.AfterFunc(life, cancel)
	callCtx = withRequestInfo(withClientQuestions(callCtx, req, c.askClient, &c.missing), req)
	go func() {
		c.result <- s.Call(callCtx, t.Name, arguments, c.forwardEvent)
		stop()
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.calls, c)
		r.bytes -= len(arguments)
	}()
	return true
}

// cancelAllCalls cancels the calls that can be suspended.
func (r *questionRounds) cancelAllCalls() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.calls {
		c.cancel()
	}
}
