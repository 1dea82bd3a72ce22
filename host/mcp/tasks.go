package mcp

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// A long call of a stateless client that declares the tasks extension becomes a task: the response names the task, and
// the client polls its status, answers its questions and cancels it. The call is made once, and ends with the process.

// tasksExtension is the name of the extension, which clients and server declare.
const tasksExtension = "io.modelcontextprotocol/tasks"

// Times and limits of tasks.
const (
	taskDelay        = 5 * time.Second // after which a call becomes a task; at once for tools that declare to be long-running
	taskLifetime     = time.Hour       // after the end of the call
	taskPollInterval = time.Second     // proposed to clients
	maxTasks         = 256             // in a process; further calls become no tasks
)

// Methods of the extension. The SDK does not know them, so they reach the server as calls of tools with these names.
const (
	getTaskMethod    = "tasks/get"
	updateTaskMethod = "tasks/update"
	cancelTaskMethod = "tasks/cancel"
)

var taskMethods = []string{getTaskMethod, updateTaskMethod, cancelTaskMethod}

// taskParams are the parameters of the extension's methods.
type taskParams struct {
	TaskID    string                     `json:"taskId"`
	Responses map[string]json.RawMessage `json:"inputResponses,omitempty"`
}

// rewriteTaskRequest rewrites a stateless request for a task as a tool call, and returns its method and task. It returns
// other messages unchanged.
func rewriteTaskRequest(message []byte) (rewritten []byte, method, taskID string) {
	if !bytes.Contains(message, []byte(`"tasks/`)) {
		return message, "", ""
	}
	var r struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
		Params struct {
			Meta map[string]any `json:"_meta"`
			taskParams
		} `json:"params"`
	}
	err := jsonv2.Unmarshal(message, &r, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	version, _ := r.Params.Meta[mcp.MetaKeyProtocolVersion].(string)
	if err != nil || version < statelessSince || !slices.Contains(taskMethods, r.Method) {
		return message, "", ""
	}
	params := map[string]any{"name": r.Method, "arguments": r.Params.taskParams, "_meta": r.Params.Meta}
	rewritten, err = jsonv2.Marshal(map[string]any{"jsonrpc": "2.0", "id": r.ID, "method": "tools/call", "params": params})
	if err != nil {
		return message, "", ""
	}
	return rewritten, r.Method, r.Params.TaskID
}

// rewriteTaskHeaders rewrites the headers of a request that rewriteTaskRequest has rewritten. The SDK refuses headers
// that differ from the message.
func rewriteTaskHeaders(header http.Header, method, taskID string) {
	for name, values := range map[string][2]string{"Mcp-Method": {method, "tools/call"}, "Mcp-Name": {taskID, method}} {
		switch header.Get(name) {
		case values[0]:
			header.Set(name, values[1])
		case values[1]:
			header.Set(name, values[0])
		}
	}
}

// clientSupportsTasks reports whether a request's client declares the tasks extension.
func clientSupportsTasks(req *mcp.CallToolRequest) bool {
	c := req.ClientCapabilities()
	return callProtocolVersion(req) >= statelessSince && c != nil && c.Extensions[tasksExtension] != nil
}

// taskStore holds the tasks of a process by their ids. The zero value is ready for use.
type taskStore struct {
	mu   sync.Mutex
	byID map[string]*task
}

// processTasks are the tasks of all servers in this process. After a configuration reload, another server of the agent
// answers for them.
var processTasks taskStore

// task is a call whose result its client polls.
type task struct {
	id      string
	owner   string // agent and token of its client
	call    *suspendedCall
	created time.Time
	answers chan mcp.InputResponseMap

	mu        sync.Mutex
	status    string
	updated   time.Time
	expires   time.Time // zero while the call is made
	pending   mcp.InputRequestMap
	responses mcp.InputResponseMap
	result    json.RawMessage
	failure   error
}

// Statuses of tasks.
const (
	taskWorking       = "working"
	taskInputRequired = "input_required"
	taskCompleted     = "completed"
	taskFailed        = "failed" // with a JSON-RPC error
	taskCancelled     = "cancelled"
)

// startTask makes a running call a task. It returns nil if there are too many tasks.
func (s *taskStore) startTask(owner string, c *suspendedCall, textResult bool) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.byID) >= maxTasks {
		return nil
	}
	if s.byID == nil {
		s.byID = map[string]*task{}
	}
	now := time.Now().UTC()
	t := &task{id: rand.Text(), owner: owner, call: c, created: now, updated: now, status: taskWorking, answers: make(chan mcp.InputResponseMap, 1)}
	s.byID[t.id] = t
	go func() {
		t.followCall(textResult)
		time.AfterFunc(taskLifetime, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(s.byID, t.id)
		})
	}()
	return t
}

// findTask returns an owner's task; nil for none.
func (s *taskStore) findTask(owner, id string) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.byID[id]; t != nil && t.owner == owner {
		return t
	}
	return nil
}

// followCall passes questions and responses between the call and the client until the call ends.
func (t *task) followCall(textResult bool) {
	defer t.call.cancel()
	var answer mcp.InputResponseMap
	for {
		q, result := t.call.awaitQuestionOrResult(context.Background(), answer, nil)
		if q != nil {
			t.call.pending = q
			t.setPending(q.requests)
			expire := time.AfterFunc(questionTimeout, t.call.cancel)
			select {
			case answer = <-t.answers:
			case result = <-t.call.result: // cancelled
			}
			expire.Stop()
		}
		if result != nil {
			t.endTask(result, textResult)
			return
		}
	}
}

func (t *task) setPending(requests mcp.InputRequestMap) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == taskWorking {
		t.status, t.updated = taskInputRequired, time.Now().UTC()
		t.pending, t.responses = maps.Clone(requests), mcp.InputResponseMap{}
	}
}

// addResponses adds a client's responses to pending questions, in JSON. It ignores others. The call continues when no
// question is pending.
func (t *task) addResponses(responses map[string]json.RawMessage) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for name, request := range t.pending {
		if responses[name] == nil {
			continue
		}
		var response mcp.InputResponseMap
		text, err := json.Marshal(map[string]json.RawMessage{name: responses[name]})
		if err = errors.Join(err, json.Unmarshal(text, &response)); err != nil {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
		}
		q := roundQuestion{requests: mcp.InputRequestMap{name: request}}
		if chosen := q.chooseResponses(response); chosen != nil {
			t.responses[name] = chosen[name]
			delete(t.pending, name)
		}
	}
	if t.status == taskInputRequired && len(t.pending) == 0 {
		t.status, t.updated = taskWorking, time.Now().UTC()
		t.answers <- t.responses
	}
	return nil
}

// cancelCall cancels the call. It does nothing after the call's end.
func (t *task) cancelCall() {
	t.call.cancel()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == taskWorking || t.status == taskInputRequired {
		t.status, t.updated, t.pending = taskCancelled, time.Now().UTC(), nil
	}
}

// endTask records the result of the call. It drops the result of a cancelled call.
func (t *task) endTask(result *session.Result, textResult bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.expires, t.pending = time.Now().UTC().Add(taskLifetime), nil
	if t.status == taskCancelled {
		return
	}
	t.updated = time.Now().UTC()
	marshalled, err := marshalResult(toToolResult(result, textResult))
	if err != nil {
		t.failure = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
	} else {
		t.failure = t.call.missingCapabilityError(result)
	}
	if t.status, t.result = taskCompleted, marshalled.text; t.failure != nil {
		t.status, t.result = taskFailed, nil
	}
}

// describeTask returns the response to a request for the task, or to the call that became the task.
func (t *task) describeTask(resultType string) (mcp.Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	progress, updated := t.call.latestProgress()
	if updated.Before(t.updated) {
		updated = t.updated
	}
	out := struct {
		ResultType    string              `json:"resultType"`
		TaskID        string              `json:"taskId"`
		Status        string              `json:"status"`
		StatusMessage string              `json:"statusMessage,omitempty"`
		CreatedAt     time.Time           `json:"createdAt"`
		LastUpdatedAt time.Time           `json:"lastUpdatedAt"`
		TTL           *int64              `json:"ttlMs"` // null while the call is made
		PollInterval  int64               `json:"pollIntervalMs"`
		InputRequests mcp.InputRequestMap `json:"inputRequests,omitempty"`
		Result        json.RawMessage     `json:"result,omitempty"`
		Error         error               `json:"error,omitempty"`
	}{ResultType: resultType, TaskID: t.id, Status: t.status, StatusMessage: progress, CreatedAt: t.created, LastUpdatedAt: updated,
		PollInterval: taskPollInterval.Milliseconds()}
	if !t.expires.IsZero() {
		ttl := t.expires.Sub(t.created).Milliseconds()
		out.TTL = &ttl
	}
	if resultType != taskResultType {
		out.InputRequests, out.Result, out.Error = t.pending, t.result, t.failure
	}
	text, err := json.Marshal(out)
	return &marshalledResult{text: text}, err
}

// taskResultType is the result type of a call that became a task. Other responses have completeResultType.
const (
	taskResultType     = "task"
	completeResultType = "complete"
)

// taskStartedError is the outcome of a call that became a task. The SDK has no other way to return it from a tool.
type taskStartedError struct{ task *task }

func (e *taskStartedError) Error() string { return "the call became task " + e.task.id }

// answerTaskRequests is middleware that answers requests for tasks, returns the tasks that calls became, and declares
// the extension.
func (ts *toolset) answerTaskRequests(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if call, ok := req.(*mcp.CallToolRequest); ok && slices.Contains(taskMethods, call.Params.Name) {
			return ts.rounds.answerTaskRequest(call)
		}
		result, err := next(ctx, method, req)
		if started := (*taskStartedError)(nil); errors.As(err, &started) {
			return started.task.describeTask(taskResultType)
		}
		if found, ok := result.(*mcp.DiscoverResult); ok && err == nil {
			with := *found.Capabilities
			with.Extensions = maps.Clone(with.Extensions)
			with.AddExtension(tasksExtension, nil)
			found.Capabilities = &with
		}
		return result, err
	}
}

// answerTaskRequest answers a request for a task.
func (r *questionRounds) answerTaskRequest(req *mcp.CallToolRequest) (mcp.Result, error) {
	if !clientSupportsTasks(req) {
		return nil, newMissingCapabilityError(map[string]any{"extensions": map[string]any{tasksExtension: struct{}{}}},
			"the client has not declared the extension "+tasksExtension)
	}
	var p taskParams
	if err := json.Unmarshal(req.Params.Arguments, &p); err != nil {
		return nil, err
	}
	t := r.tasks.findTask(r.taskOwner(), p.TaskID)
	if t == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams,
			Message: "there is no such task: it has expired, or ended with its picoclaw process"}
	}
	switch req.Params.Name {
	case updateTaskMethod:
		if err := t.addResponses(p.Responses); err != nil {
			return nil, err
		}
	case cancelTaskMethod:
		t.cancelCall()
	default:
		return t.describeTask(completeResultType)
	}
	return &marshalledResult{text: []byte(`{"resultType":"` + completeResultType + `"}`)}, nil
}

// taskOwner returns the owner of this server's tasks.
func (r *questionRounds) taskOwner() string { return r.agent + "\n" + r.token }

// newTaskTimer returns a channel that receives when a call of a client becomes a task; nil for never.
func newTaskTimer(t session.Tool, req *mcp.CallToolRequest) <-chan time.Time {
	switch {
	case !clientSupportsTasks(req) || methodOfCall(req.Params.Name) != "tools/call":
		return nil
	case t.Spec.LongRunning:
		now := make(chan time.Time, 1)
		now <- time.Time{}
		return now
	}
	return time.After(taskDelay)
}

// missingCapabilityError returns the error of a call that failed because its client lacks a capability; nil for others.
func (c *suspendedCall) missingCapabilityError(result *session.Result) error {
	if c.missing == nil || result.Err == nil || result.Err.Code != pluginpb.CodeNobodyToAsk {
		return nil
	}
	required := map[string]any{}
	for _, name := range c.missing {
		required[name] = struct{}{}
	}
	return newMissingCapabilityError(required, result.Err.Message)
}

// newMissingCapabilityError returns the error of a request whose client must declare capabilities.
func newMissingCapabilityError(required map[string]any, text string) error {
	data, err := json.Marshal(map[string]any{"requiredCapabilities": required})
	if err != nil {
		return err
	}
	return &jsonrpc.Error{Code: mcp.CodeMissingRequiredClientCapabilities, Message: text, Data: data}
}
