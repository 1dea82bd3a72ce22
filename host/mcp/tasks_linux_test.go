package mcp

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host/hosttest"
	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// taskSession is a session with one long-running tool. Its calls count themselves, and end as their argument says.
type taskSession struct {
	nothing
	calls chan string   // the arguments of calls
	end   chan struct{} // closed for the end of waiting calls
	ended chan error    // the contexts' errors of calls that wait
}

func newTaskSession() *taskSession {
	return &taskSession{calls: make(chan string, 100), end: make(chan struct{}), ended: make(chan error, 100)}
}

func (s *taskSession) Tools() []session.Tool {
	return []session.Tool{{Name: "test.long", Plugin: "test", Spec: &pluginpb.ToolSpec{Name: "long", LongRunning: true}},
		{Name: "test.short", Plugin: "test", Spec: &pluginpb.ToolSpec{Name: "short"}}}
}

func (s *taskSession) Call(ctx context.Context, tool string, arguments json.RawMessage, events func(session.CallEvent)) *session.Result {
	s.calls <- string(arguments)
	if tool == "test.short" {
		return &session.Result{Text: "short"}
	}
	if strings.Contains(string(arguments), "roots") {
		_, err := session.ElicitorOf(ctx)(ctx, []session.ElicitationForm{{Tool: tool, Name: "roots", Kind: pluginpb.RootsQuestion}})
		return &session.Result{Err: &session.Error{Code: pluginpb.CodeNobodyToAsk, Message: err.Error()}}
	}
	if strings.Contains(string(arguments), "ask") {
		forms := []session.ElicitationForm{}
		for _, name := range []string{"one", "two"} {
			forms = append(forms, session.ElicitationForm{Tool: tool, Name: name, Message: name,
				Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","default":3}}}`)})
		}
		answers, err := session.ElicitorOf(ctx)(ctx, forms)
		if err != nil {
			return &session.Result{Err: &session.Error{Code: pluginpb.CodeNobodyToAsk, Message: err.Error()}}
		}
		return &session.Result{Text: string(answers[0].Values) + string(answers[1].Values)}
	}
	events(session.CallEvent{Message: "half of it"})
	select {
	case <-s.end:
	case <-ctx.Done():
	}
	s.ended <- ctx.Err()
	return &session.Result{Text: "done"}
}

// taskResponse is the response to a request for a task, or to a call.
type taskResponse struct {
	Result struct {
		ResultType, TaskID, Status, StatusMessage string
		TTLMs                                     *int64
		InputRequests                             map[string]any
		Result                                    struct{ Content []struct{ Text string } }
		Error                                     struct{ Code int }
	}
	Error struct {
		Code int
		Data map[string]any
	}
	text string
}

// withTasks are the capabilities of a client with tasks and forms.
const withTasks = `{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`

// request sends a request with params, and with the capabilities of its client.
func (c *statelessClient) requestTask(method, params, capabilities string, headers map[string]string) (r taskResponse) {
	c.t.Helper()
	_, _, r.text = c.post(`{"jsonrpc":"2.0","id":7,"method":"`+method+`","params":{`+params+`,`+
		strings.Replace(metaOf(statelessSince), "{}", capabilities, 1)+`}}`, headers)
	if err := json.Unmarshal([]byte(r.text), &r); err != nil {
		c.t.Fatal(err, r.text)
	}
	return r
}

func (c *statelessClient) callLong(kind string) taskResponse {
	c.t.Helper()
	return c.requestTask("tools/call", `"name":"test_long","arguments":{"kind":"`+kind+`"}`, withTasks, nil)
}

// task sends a request for a task, with the task in the header.
func (c *statelessClient) task(method, id, more string) taskResponse {
	c.t.Helper()
	return c.requestTask(method, `"taskId":"`+id+`"`+more, withTasks, map[string]string{"Mcp-Name": id})
}

func (c *statelessClient) awaitTask(id, status string) (r taskResponse) {
	c.t.Helper()
	hosttest.WaitUntil(c.t, "the task is "+status, func() bool { r = c.task(getTaskMethod, id, ""); return r.Result.Status == status })
	return r
}

func TestLongCallBecomesTask(t *testing.T) {
	t.Parallel()
	s := newTaskSession()
	c := newStatelessClient(t, s, HTTPOptions{})
	created := c.callLong("wait")
	id := created.Result.TaskID
	if created.Result.ResultType != "task" || id == "" || created.Result.Status != taskWorking || created.Result.TTLMs != nil {
		t.Fatal(created.text)
	}
	hosttest.WaitUntil(t, "the task has progress", func() bool { return c.task(getTaskMethod, id, "").Result.StatusMessage == "half of it" })
	close(s.end)
	done := c.awaitTask(id, taskCompleted)
	if len(done.Result.Result.Content) != 1 || done.Result.Result.Content[0].Text != "done" || done.Result.ResultType != "complete" ||
		done.Result.TTLMs == nil || *done.Result.TTLMs < taskLifetime.Milliseconds() {
		t.Error(done.text)
	}
	if len(s.calls) != 1 {
		t.Errorf("%d calls were made", len(s.calls))
	}
}

func TestTaskIsCancelled(t *testing.T) {
	t.Parallel()
	s := newTaskSession()
	c := newStatelessClient(t, s, HTTPOptions{})
	id := c.callLong("wait").Result.TaskID
	for range 2 { // the second has no effect
		if got := c.task(cancelTaskMethod, id, ""); !strings.Contains(got.text, `{"resultType":"complete"}`) {
			t.Error(got.text)
		}
	}
	if err := <-s.ended; err == nil {
		t.Error("the call was not cancelled")
	}
	if got := c.task(getTaskMethod, id, ""); got.Result.Status != taskCancelled || strings.Contains(got.text, "done") {
		t.Error(got.text)
	}
}

func TestTaskAsksInParts(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, newTaskSession(), HTTPOptions{})
	id := ""
	for id == "" { // the question may come before the call is a task
		id = c.callLong("ask").Result.TaskID
	}
	asked := c.awaitTask(id, taskInputRequired)
	if names := slices.Sorted(maps.Keys(asked.Result.InputRequests)); !slices.Equal(names, []string{"one", "two"}) {
		t.Fatal(asked.text)
	}
	c.task(updateTaskMethod, id, `,"inputResponses":{"two":{"action":"accept","content":{"n":2}},"three":{"x":1}}`)
	if got := c.task(getTaskMethod, id, ""); got.Result.Status != taskInputRequired || len(got.Result.InputRequests) != 1 {
		t.Errorf("after one response: %s", got.text)
	}
	if got := c.task(updateTaskMethod, id, `,"inputResponses":{"one":{"x":1}}`); got.Error.Code != -32602 {
		t.Errorf("an invalid response: %s", got.text)
	}
	c.task(updateTaskMethod, id, `,"inputResponses":{"one":{"action":"accept","content":{}}}`)
	if got := c.awaitTask(id, taskCompleted); !strings.Contains(got.text, `{\"n\":3}{\"n\":2}`) {
		t.Error(got.text)
	}
}

// A call that would fail with a protocol error is a failed task.
func TestTaskFailsWithoutCapability(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, newTaskSession(), HTTPOptions{})
	created := c.callLong("roots")
	if created.Error.Code == -32021 { // it failed before it was a task
		return
	}
	if got := c.awaitTask(created.Result.TaskID, taskFailed); got.Result.Error.Code != -32021 || strings.Contains(got.text, "content") {
		t.Error(got.text)
	}
}

func TestTaskBelongsToToken(t *testing.T) {
	t.Parallel()
	s := newTaskSession()
	c, dir := newStatelessClient(t, s, HTTPOptions{}), t.TempDir()
	id := c.callLong("wait").Result.TaskID
	other := newStatelessClient(t, s, HTTPOptions{})
	if err := other.server.PersistQuestionStates(dir, "another"); err != nil {
		t.Fatal(err)
	}
	for _, method := range taskMethods {
		if got := other.task(method, id, ""); got.Error.Code != -32602 {
			t.Errorf("%s of another agent's task: %s", method, got.text)
		}
		if got := c.task(method, "unknown", ""); got.Error.Code != -32602 {
			t.Errorf("%s of an unknown task: %s", method, got.text)
		}
	}
	if again := newStatelessClient(t, s, HTTPOptions{}); again.task(getTaskMethod, id, "").Result.Status != taskWorking {
		t.Error("another server of the agent does not know the task")
	}
}

func TestTasksNeedExtension(t *testing.T) {
	t.Parallel()
	s := newTaskSession()
	close(s.end)
	c := newStatelessClient(t, s, HTTPOptions{})
	if got := c.requestTask("tools/call", `"name":"test_long","arguments":{}`, `{}`, nil); got.Result.ResultType != "complete" || got.Result.TaskID != "" {
		t.Errorf("a client without tasks: %s", got.text)
	}
	if got := c.requestTask("tools/call", `"name":"test_short","arguments":{}`, withTasks, nil); got.Result.ResultType != "complete" {
		t.Errorf("a short call: %s", got.text)
	}
	for _, method := range taskMethods {
		got := c.requestTask(method, `"taskId":"x"`, `{}`, map[string]string{"Mcp-Name": "x"})
		if got.Error.Code != -32021 || !strings.Contains(got.text, `"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`) {
			t.Errorf("%s: %s", method, got.text)
		}
	}
	for _, method := range []string{"tasks/list", "tasks/result"} {
		if got := c.task(method, "x", ""); got.Error.Code != -32601 {
			t.Errorf("%s: %s", method, got.text)
		}
	}
	discovered := c.requestTask("server/discover", `"x":1`, withTasks, nil)
	if !strings.Contains(discovered.text, `"extensions":{"io.modelcontextprotocol/tasks":{}}`) {
		t.Error(discovered.text)
	}
}

func TestTaskHeadersMustMatch(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, newTaskSession(), HTTPOptions{})
	id := c.callLong("wait").Result.TaskID
	for _, headers := range []map[string]string{{"Mcp-Name": "another"}, {"Mcp-Name": getTaskMethod}, {"Mcp-Name": id, "Mcp-Method": "tools/call"},
		{"Mcp-Name": id, "Mcp-Method": updateTaskMethod}} {
		if got := c.requestTask(getTaskMethod, `"taskId":"`+id+`"`, withTasks, headers); got.Error.Code != -32020 {
			t.Errorf("%v: %s", headers, got.text)
		}
	}
}

func TestTasksEndWithServer(t *testing.T) {
	t.Parallel()
	s := newTaskSession()
	c := newStatelessClient(t, s, HTTPOptions{})
	c.callLong("wait")
	c.server.EndAllSessions(t.Context())
	if err := <-s.ended; err == nil {
		t.Error("the call was not cancelled")
	}
}

func TestTasksAreLimited(t *testing.T) {
	t.Parallel()
	s := newTaskSession()
	c := newStatelessClient(t, s, HTTPOptions{})
	full := &taskStore{byID: map[string]*task{}}
	for i := range maxTasks {
		full.byID[string(rune('a'+i))] = &task{}
	}
	c.server.tools.rounds.tasks = full
	close(s.end)
	if got := c.callLong("wait"); got.Result.ResultType != "complete" || len(s.calls) != 1 {
		t.Error(got.text)
	}
}

func TestTasksOverStdio(t *testing.T) {
	t.Parallel()
	s := newTaskSession()
	c := connectWith(t, NewServer(s, "test", ""))
	send := func(method, params string) (r taskResponse) {
		c.send(`{"jsonrpc":"2.0","id":2,"method":"` + method + `","params":{` + params + `,` +
			strings.Replace(metaOf(statelessSince), "{}", withTasks, 1) + `}}`)
		r.text = c.line()
		if err := json.Unmarshal([]byte(r.text), &r); err != nil {
			t.Fatal(err, r.text)
		}
		return r
	}
	id := send("tools/call", `"name":"test_long","arguments":{}`).Result.TaskID
	if got := send(getTaskMethod, `"taskId":"`+id+`"`); got.Result.Status != taskWorking {
		t.Error(got.text)
	}
	close(s.end)
	hosttest.WaitUntil(t, "the task is completed", func() bool {
		return send(getTaskMethod, `"taskId":"`+id+`"`).Result.Status == taskCompleted
	})
}

func FuzzTaskRequest(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"tasks/get","params":{"taskId":"a",` + metaOf(statelessSince) + `}}`))
	f.Add([]byte(`{"id":1,"method":"tasks/update","params":{"inputResponses":{"a":1},` + metaOf(statelessSince) + `}}`))
	f.Fuzz(func(t *testing.T, message []byte) {
		rewritten, method, taskID := rewriteTaskRequest(message)
		if method == "" {
			return
		}
		if _, err := decodeMessage(rewritten); err != nil {
			t.Errorf("%s became %s: %v", message, rewritten, err)
		}
		header := http.Header{"Mcp-Method": {method}}
		if rewriteTaskHeaders(header, method, taskID); header.Get("Mcp-Method") != "tools/call" {
			t.Errorf("%v", header)
		}
	})
}
