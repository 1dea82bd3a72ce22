package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/guard"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

func TestAnswerBoundToCall(t *testing.T) {
	t.Parallel()
	const command = `{"command":"touch a"}`
	call := newCallHash("main", "token", "exec", []byte(command))
	question := sha256.Sum256([]byte("may I?"))
	for name, states := range map[string]*requestStateIssuer{"memory": newMemoryRequestStates(), "directory": openTestStates(t, t.TempDir())} {
		for what, other := range map[string]callHash{
			"other arguments":   newCallHash("main", "token", "exec", []byte(`{"command":"touch b"}`)),
			"another tool":      newCallHash("main", "token", "write_file", []byte(command)),
			"another agent":     newCallHash("other", "token", "exec", []byte(command)),
			"another token":     newCallHash("main", "token2", "exec", []byte(command)),
			"shifted arguments": newCallHash("main", "token", `exec"{`, []byte(command[1:])),
		} {
			state, _ := states.issueState(call, question)
			if _, _, err := states.redeemState(state, other); !errors.Is(err, errStateInvalid) {
				t.Errorf("%s: a state for %s: %v", name, what, err)
			}
		}
		state, id := states.issueState(call, question)
		if gotID, gotQuestion, err := states.redeemState(state, call); err != nil || gotID != id || gotQuestion != question {
			t.Errorf("%s: %s %x %v", name, gotID, gotQuestion, err)
		}
		if _, _, err := states.redeemState(state, call); !errors.Is(err, errStateUsed) {
			t.Errorf("%s: a state is redeemed twice: %v", name, err)
		}
	}
}

// openTestStates opens the states of a directory.
func openTestStates(t *testing.T, dir string) *requestStateIssuer {
	t.Helper()
	states, err := openRequestStateStore(dir)
	if err != nil {
		t.Fatal(err)
	}
	return states
}

func TestTamperedStateIsRefused(t *testing.T) {
	t.Parallel()
	states, call := newMemoryRequestStates(), newCallHash("a", "b", "c", nil)
	state, _ := states.issueState(call, [sha256.Size]byte{})
	data, err := base64.RawURLEncoding.DecodeString(state)
	if err != nil {
		t.Fatal(err)
	}
	tampered := []string{state + "A", state + "=", state[1:], state + "-TAMPERED", "x"}
	for i := range data {
		data[i] ^= 1
		tampered = append(tampered, base64.RawURLEncoding.EncodeToString(data))
		data[i] ^= 1
	}
	for _, text := range tampered {
		if _, _, err := states.redeemState(text, call); !errors.Is(err, errStateInvalid) {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, _, err := states.redeemState(state, call); err != nil {
		t.Error(err)
	}
	if _, _, err := newMemoryRequestStates().redeemState(state, call); !errors.Is(err, errStateInvalid) {
		t.Errorf("a state that another key signed: %v", err)
	}
}

func TestStateExpires(t *testing.T) {
	t.Parallel()
	states, call := newMemoryRequestStates(), newCallHash("a", "b", "c", nil)
	payload := make([]byte, stateSize)
	payload[stateIDSize+7] = 1 // one second after 1970 began
	state := base64.RawURLEncoding.EncodeToString(append(payload, states.signPayload(payload, call)...))
	if _, _, err := states.redeemState(state, call); !errors.Is(err, errStateExpired) {
		t.Error(err)
	}
}

func TestUsedStatesSurviveRestart(t *testing.T) {
	t.Parallel()
	dir, call := t.TempDir(), newCallHash("a", "b", "c", nil)
	states := openTestStates(t, dir)
	used, _ := states.issueState(call, [sha256.Size]byte{})
	pending, _ := states.issueState(call, [sha256.Size]byte{})
	if _, _, err := states.redeemState(used, call); err != nil {
		t.Fatal(err)
	}
	again := openTestStates(t, dir)
	if _, _, err := again.redeemState(used, call); !errors.Is(err, errStateUsed) {
		t.Errorf("a used state after a restart: %v", err)
	}
	if _, _, err := again.redeemState(pending, call); err != nil {
		t.Errorf("a pending state after a restart: %v", err)
	}
	old := filepath.Join(again.dir, usedPrefix+"1-00")
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	again.removeExpiredStates()
	if files, err := os.ReadDir(again.dir); err != nil || len(files) != 3 { // the key and two used states
		t.Errorf("%v %v", files, err)
	}
}

// roundsSession is a session whose one tool asks for approval, then by a form, and returns both answers.
type roundsSession struct {
	nothing
	ended chan struct{} // closed at the end of a call
}

func (s *roundsSession) Tools() []session.Tool {
	return []session.Tool{{Name: "test.rounds", Plugin: "test", Spec: &pluginpb.ToolSpec{Name: "rounds"}}}
}

func (s *roundsSession) Call(ctx context.Context, _ string, _ json.RawMessage, _ func(session.CallEvent)) *session.Result {
	defer close(s.ended)
	if ask := session.ApprovalAskerOf(ctx); ask == nil || !ask(ctx, session.ApprovalQuestion{Tool: "test.rounds", Decision: guard.Decision{Reason: "r", Rule: "r"}}) {
		return &session.Result{Text: "refused"}
	}
	answer, err := session.ElicitorOf(ctx)(ctx, []session.ElicitationForm{{Tool: "test.rounds", Message: "How many?",
		Schema: json.RawMessage(`{"type":"object","title":"count","properties":{"n":{"type":"integer","default":3}}}`)}})
	if err != nil {
		return &session.Result{Text: err.Error()}
	}
	return &session.Result{Text: answer[0].Action + string(answer[0].Values)}
}

// round sends a call with the state and the answer of the round before, and returns its result or error.
func (c *statelessClient) round(state, responses string) (result roundResult) {
	c.t.Helper()
	message := `{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"test_rounds","arguments":{"a":1},`
	if state != "" {
		message += `"requestState":"` + state + `","inputResponses":{` + responses + `},`
	}
	_, _, answer := c.post(message+strings.Replace(metaOf(statelessSince), "{}", `{"elicitation":{}}`, 1)+`}}`, nil)
	if err := json.Unmarshal([]byte(answer), &result); err != nil {
		c.t.Fatal(answer, err)
	}
	result.text = answer
	return result
}

// roundResult is the response to a round.
type roundResult struct {
	Result struct {
		ResultType, RequestState string
		InputRequests            map[string]any
	}
	Error struct{ Code int }
	text  string
}

const (
	approve = `"allow":{"action":"accept","content":{"allow":true}}`
	deny    = `"allow":{"action":"decline"}`
)

func TestQuestionsInRounds(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, &roundsSession{ended: make(chan struct{})}, HTTPOptions{})
	approval := c.round("", "")
	if approval.Result.ResultType != "input_required" || approval.Result.InputRequests["allow"] == nil {
		t.Fatal(approval.text)
	}
	again := c.round(approval.Result.RequestState, `"other":{"action":"accept"}`) // without the answer
	if again.Result.InputRequests["allow"] == nil || again.Result.RequestState == approval.Result.RequestState {
		t.Fatalf("without an answer: %s", again.text)
	}
	form := c.round(again.Result.RequestState, approve)
	if form.Result.InputRequests["count"] == nil || !strings.Contains(form.text, "How many?") {
		t.Fatalf("the tool's form: %s", form.text)
	}
	for name, state := range map[string]string{"used": again.Result.RequestState, "replaced": approval.Result.RequestState,
		"tampered": form.Result.RequestState + "A"} {
		if got := c.round(state, approve); got.Error.Code != -32602 {
			t.Errorf("the %s state: %s", name, got.text)
		}
	}
	if got := c.round(form.Result.RequestState, `"count":{"action":"accept","content":{}}`); !strings.Contains(got.text, `accept{\"n\":3}`) {
		t.Errorf("the tool's result: %s", got.text)
	}
}

func TestRoundsRefuseInvalidForm(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, &roundsSession{ended: make(chan struct{})}, HTTPOptions{})
	form := c.round(c.round("", "").Result.RequestState, approve)
	got := c.round(form.Result.RequestState, `"count":{"action":"accept","content":{"n":"many"}}`)
	if !strings.Contains(got.text, "does not match requested schema") {
		t.Error(got.text)
	}
}

func TestRoundsDenyCall(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, &roundsSession{ended: make(chan struct{})}, HTTPOptions{})
	if got := c.round(c.round("", "").Result.RequestState, deny); !strings.Contains(got.text, "refused") {
		t.Error(got.text)
	}
}

// An answer to an approval question counts after a restart, once; a tool's form is lost with its call.
func TestRoundsAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	start := func(agent string) *statelessClient {
		c := newStatelessClient(t, &roundsSession{ended: make(chan struct{})}, HTTPOptions{})
		if err := c.server.PersistQuestionStates(dir, agent); err != nil {
			t.Fatal(err)
		}
		return c
	}
	first := start("main")
	approval := first.round("", "")
	restarted := start("main")
	restarted.server.tools.rounds.suspended = new(sync.Map) // that of another process
	if got := start("other").round(approval.Result.RequestState, approve); got.Error.Code != -32602 {
		t.Errorf("another agent's state: %s", got.text)
	}
	form := restarted.round(approval.Result.RequestState, approve)
	if form.Result.InputRequests["count"] == nil {
		t.Fatalf("the approved call: %s", form.text)
	}
	if got := start("main").round(approval.Result.RequestState, approve); got.Error.Code != -32602 {
		t.Errorf("the used state: %s", got.text)
	}
}

// An answer to another question than that of the call does not approve it.
func TestApprovalBoundToQuestion(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, &roundsSession{ended: make(chan struct{})}, HTTPOptions{})
	r := c.server.tools.rounds
	state, _ := r.states.issueState(newCallHash("", "the token", "test.rounds", []byte(`{"a":1}`)), sha256.Sum256([]byte("another")))
	got := c.round(state, approve)
	if got.Result.InputRequests["allow"] == nil {
		t.Errorf("the call does not ask: %s", got.text)
	}
	state, _ = r.states.issueState(newCallHash("", "another token", "test.rounds", []byte(`{"a":1}`)), [sha256.Size]byte{})
	if got := c.round(state, approve); got.Error.Code != -32602 {
		t.Errorf("the state of another token: %s", got.text)
	}
}

// Over stdio, each request has its own capabilities.
func TestRoundsOverStdio(t *testing.T) {
	t.Parallel()
	c := connectWith(t, NewServer(&roundsSession{ended: make(chan struct{})}, "test", ""))
	c.send(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + metaOf(statelessSince) + `}}`)
	if line := c.line(); !strings.Contains(line, `"supportedVersions"`) {
		t.Fatal(line)
	}
	c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"test_rounds","arguments":{},` +
		strings.Replace(metaOf(statelessSince), "{}", `{"elicitation":{}}`, 1) + `}}`)
	if line := c.line(); !strings.Contains(line, `"resultType":"input_required"`) {
		t.Error(line)
	}
}

// The configuration is loaded again between question and answer.
func TestRoundsContinueOnAnotherServer(t *testing.T) {
	t.Parallel()
	s, dir := &roundsSession{ended: make(chan struct{})}, t.TempDir()
	first := newStatelessClient(t, s, HTTPOptions{})
	if err := first.server.PersistQuestionStates(dir, "main"); err != nil {
		t.Fatal(err)
	}
	next := newStatelessClient(t, s, HTTPOptions{}) // its session would close s.ended twice if it made a call
	if err := next.server.PersistQuestionStates(dir, "main"); err != nil {
		t.Fatal(err)
	}
	form := next.round(first.round("", "").Result.RequestState, approve)
	if got := next.round(form.Result.RequestState, `"count":{"action":"cancel"}`); !strings.Contains(got.text, "cancel") {
		t.Error(got.text)
	}
}

func TestSuspendedCallEndsWithServer(t *testing.T) {
	t.Parallel()
	s := &roundsSession{ended: make(chan struct{})}
	c := newStatelessClient(t, s, HTTPOptions{})
	c.round("", "")
	c.server.EndAllSessions(t.Context())
	<-s.ended
}

// A client without elicitation is never asked.
func TestRoundsNeedElicitation(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, &roundsSession{ended: make(chan struct{})}, HTTPOptions{})
	status, _, answer := c.post(strings.Replace(statelessCall("x"), "test_tell", "test_rounds", 1), nil)
	if status != http.StatusOK || !strings.Contains(answer, "refused") {
		t.Errorf("%d %s", status, answer)
	}
}

func TestSuspendedCallsAreLimited(t *testing.T) {
	t.Parallel()
	c := newStatelessClient(t, &roundsSession{ended: make(chan struct{})}, HTTPOptions{})
	for range maxSuspended {
		c.server.tools.rounds.calls[&suspendedCall{cancel: func() {}}] = true
	}
	if got := c.round("", ""); !strings.Contains(got.text, "refused") {
		t.Error(got.text)
	}
}
