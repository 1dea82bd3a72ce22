package openai

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/modeltest"
)

const key = "sk-this-is-a-secret-key"

func model(t *testing.T, steps ...modeltest.ScriptedReply) (*Model, *modeltest.FakeModelServer) {
	t.Helper()
	server := modeltest.StartServer(steps...)
	t.Cleanup(server.Close)
	m, err := New(Options{Model: "test", BaseURL: server.URL + "/v1", Key: key, Headers: map[string]string{"X-Title": "ours"}})
	if err != nil {
		t.Fatal(err)
	}
	return m, server
}

func ask(text string) agent.ModelRequest {
	return agent.ModelRequest{System: "be good", Messages: []agent.Message{{Role: agent.User, Text: text}}, MaxTokens: 100}
}

// made is a call as a test says it.
type made struct{ ID, Tool, Arguments, Extra string }

func callsOf(m agent.Message) []made {
	var all []made
	for _, c := range m.Calls {
		all = append(all, made{c.ID, c.Tool, string(c.Arguments), string(c.Extra)})
	}
	return all
}

// deltas are pieces of tool calls, each in a chunk of its own.
func deltas(calls ...string) []string {
	var all []string
	for _, c := range calls {
		all = append(all, `{"choices":[{"index":0,"delta":{"tool_calls":[`+c+`]}}]}`)
	}
	return append(all, `{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, "[DONE]")
}

func TestCallsAreAssembledFromPieces(t *testing.T) {
	for name, test := range map[string]struct {
		raw  []string
		want []made
	}{
		"as OpenAI": {
			deltas(`{"index":0,"id":"a","function":{"name":"read","arguments":""}}`, `{"index":0,"function":{"arguments":"{\"p\":"}}`,
				`{"index":0,"function":{"arguments":"1}"}}`, `{"index":1,"id":"b","function":{"name":"list","arguments":"{}"}}`),
			[]made{{"a", "read", `{"p":1}`, ""}, {"b", "list", `{}`, ""}}},
		"interleaved": {
			deltas(`{"index":0,"id":"a","function":{"name":"read"}}`, `{"index":1,"id":"b","function":{"name":"list"}}`,
				`{"index":0,"function":{"arguments":"{\"p\":1}"}}`, `{"index":1,"function":{"arguments":"{}"}}`),
			[]made{{"a", "read", `{"p":1}`, ""}, {"b", "list", `{}`, ""}}},
		"no index": {
			deltas(`{"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`, `{"id":"b","function":{"name":"read","arguments":"{\"p\":2}"}}`),
			[]made{{"a", "read", `{"p":1}`, ""}, {"b", "read", `{"p":2}`, ""}}},
		"no index, in pieces": {
			deltas(`{"id":"a","function":{"name":"read","arguments":"{\"p\""}}`, `{"function":{"arguments":":1}"}}`, `{"id":"b","function":{"name":"list"}}`),
			[]made{{"a", "read", `{"p":1}`, ""}, {"b", "list", `{}`, ""}}},
		"no index and no id": {
			deltas(`{"function":{"name":"read","arguments":"{\"p\":1}"}}`, `{"function":{"name":"read","arguments":"{\"p\":2}"}}`, `{"function":{"name":"list","arguments":"{}"}}`),
			[]made{{"", "read", `{"p":1}`, ""}, {"", "read", `{"p":2}`, ""}, {"", "list", `{}`, ""}}},
		"every index 0": {
			deltas(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`, `{"index":0,"id":"b","function":{"name":"list","arguments":"{}"}}`),
			[]made{{"a", "read", `{"p":1}`, ""}, {"b", "list", `{}`, ""}}},
		"the same id twice": {
			deltas(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`, `{"index":1,"id":"a","function":{"name":"list","arguments":"{}"}}`),
			[]made{{"a", "read", `{"p":1}`, ""}, {"a", "list", `{}`, ""}}},
		"the same id twice, without index": {
			deltas(`{"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`, `{"id":"a","function":{"name":"read","arguments":"{\"p\":2}"}}`),
			[]made{{"a", "read", `{"p":1}`, ""}, {"a", "read", `{"p":2}`, ""}}},
		"id and name in each piece": {
			deltas(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\""}}`, `{"index":0,"id":"a","function":{"name":"read","arguments":":1}"}}`,
				`{"index":0,"id":"a","function":{"name":"read","arguments":""}}`),
			[]made{{"a", "read", `{"p":1}`, ""}}},
		"arguments are an object": {
			deltas(`{"index":0,"id":"a","function":{"name":"read","arguments":{"p":1}}}`), []made{{"a", "read", `{"p":1}`, ""}}},
		"arguments are no JSON": {
			deltas(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":"}}`), []made{{"a", "read", `"{\"p\":"`, ""}}},
		"extras": {
			deltas(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}`),
			[]made{{"a", "read", `{}`, `{"extra_content":{"google":{"thought_signature":"s"}}}`}}},
		"not streamed": {
			[]string{`{"choices":[{"index":0,"message":{"content":null,"tool_calls":[{"id":"a","function":{"name":"read","arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`, "[DONE]"},
			[]made{{"a", "read", `{}`, ""}}},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := model(t, modeltest.ScriptedReply{Raw: test.raw})
			reply, err := m.Generate(t.Context(), ask("go"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, callsOf(reply.Message)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestServerWithoutStreaming(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json; charset=utf-8")
		_, _ = w.Write([]byte("{\n" + `"choices":[{"message":{"role":"assistant","content":"all at once"},"finish_reason":"stop"}]}`))
	}))
	defer server.Close()
	m, err := New(Options{Model: "test", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	reply, err := m.Generate(t.Context(), ask("go"), func(text string) { said += text })
	if err != nil || reply.Message.Text != "all at once" || said != "all at once" {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestMalformedReplyNamesProblem(t *testing.T) {
	for want, raw := range map[string]string{
		"no JSON object":                 `{"choices":`,
		"choices is not a list":          `{"choices":{"a":1}}`,
		"delta is no object":             `{"choices":[{"delta":7}]}`,
		"neither a text nor a list":      `{"choices":[{"delta":{"content":7}}]}`,
		"tool_calls is no list":          `{"choices":[{"delta":{"tool_calls":"x"}}]}`,
		"a tool call is not one":         `{"choices":[{"delta":{"tool_calls":[7]}}]}`,
		"belongs to none":                `{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{}"}}]}}]}`,
		"neither a text nor an object":   `{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"x","arguments":[1]}}]}}]}`,
		"a tool call has no name":        `{"choices":[{"delta":{"tool_calls":[{"id":"a"}]},"finish_reason":"stop"}]}`,
		"model test at 127.0.0.1":        `x`,
		"answered 503 Service Unavail":   `{"error":{"code":503,"message":"busy"}}`,
		"answered 502 Bad Gateway: busy": `{"error":"busy"}`,
	} {
		m, _ := model(t, modeltest.ScriptedReply{Raw: []string{raw, "[DONE]"}})
		_, err := m.Generate(t.Context(), ask("go"), nil)
		var failed *agent.ModelError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", raw, err)
		}
	}
}

func TestExtraFieldsAreReturned(t *testing.T) {
	m, server := model(t,
		modeltest.ScriptedReply{Raw: append([]string{
			`{"choices":[{"delta":{"role":"assistant","reasoning_content":"let me ","content":"I'll look"}}]}`,
			`{"choices":[{"delta":{"reasoning_content":"think","reasoning_details":[{"n":1}],"refusal":null}}]}`,
			`{"choices":[{"delta":{"reasoning_details":[{"n":2}]}}]}`,
		}, deltas(`{"index":0,"id":"a","function":{"name":"read","arguments":"{}"},"extra_content":{"google":{"thought_signature":"s"}}}`)...)},
		modeltest.ScriptedReply{Text: "done"}, modeltest.ScriptedReply{Text: "done"})
	first, err := m.Generate(t.Context(), ask("go"), nil)
	if err != nil {
		t.Fatal(err)
	}
	var kept agent.Message // as a session's file has it
	text, err := json.Marshal(first.Message)
	if err != nil || json.Unmarshal(text, &kept) != nil {
		t.Fatal(err)
	}
	r := ask("go")
	r.Messages = append(r.Messages, kept, agent.Message{Role: agent.ToolResult, CallID: "a", Text: "data"})
	if _, err := m.Generate(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	r.Messages[1].From = "anthropic elsewhere"
	if _, err := m.Generate(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	bodies := server.Requests()
	for _, want := range []string{`"reasoning_content":"let me think"`, `"reasoning_details":[{"n":1},{"n":2}]`,
		`"extra_content":{"google":{"thought_signature":"s"}}`, `"tool_call_id":"a"`, `"content":"I'll look"`} {
		if !strings.Contains(bodies[1].Body, want) {
			t.Errorf("%s is not in %s", want, bodies[1].Body)
		}
	}
	if strings.Contains(bodies[2].Body, "reasoning") || strings.Contains(bodies[2].Body, "thought_signature") {
		t.Errorf("another provider's fields are sent: %s", bodies[2].Body)
	}
}

func TestTextComesInPieces(t *testing.T) {
	m, server := model(t, modeltest.ScriptedReply{Text: "one two three", Usage: &modeltest.ScriptedUsage{Input: 7, Output: 3, Cached: 5}})
	var pieces []string
	r := ask("first")
	r.Messages = append(r.Messages, agent.Message{Role: agent.User, Text: "second <b>"})
	r.Tools = []agent.ToolSpec{{Name: "read", Doc: "reads", Schema: json.RawMessage(`{"type":"object"}`)}}
	reply, err := m.Generate(t.Context(), r, func(text string) { pieces = append(pieces, text) })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"one ", "two ", "three"}, pieces); diff != "" {
		t.Error(diff)
	}
	if want := (agent.TokenUsage{Input: 7, CacheRead: 5, Output: 3}); reply.Usage != want {
		t.Errorf("the usage is %+v", reply.Usage)
	}
	sent := server.Requests()[0]
	for _, want := range []string{`"content":"first\n\nsecond <b>"`, `"max_tokens":100`, `"stream":true`, `"include_usage":true`,
		`{"content":"be good","role":"system"}`, `"parameters":{"type":"object"}`} {
		if !strings.Contains(sent.Body, want) {
			t.Errorf("%s is not in %s", want, sent.Body)
		}
	}
	if sent.Header.Get("Authorization") != "Bearer "+key || sent.Header.Get("X-Title") != "ours" {
		t.Errorf("the headers are %v", sent.Header)
	}
	for name := range sent.Header {
		if strings.HasPrefix(name, "X-Stainless") {
			t.Errorf("%s tells of this machine", name)
		}
	}
}

func TestEndpointExtraFields(t *testing.T) {
	server := modeltest.StartServer(modeltest.ScriptedReply{Text: "x"})
	defer server.Close()
	m, err := New(Options{Model: "test", BaseURL: server.URL, Body: map[string]any{"stream_options": nil, "temperature": 0.5}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Generate(t.Context(), ask("go"), nil); err != nil {
		t.Fatal(err)
	}
	body := server.Requests()[0].Body
	if strings.Contains(body, "stream_options") || !strings.Contains(body, `"temperature":0.5`) {
		t.Errorf("the request is %s", body)
	}
}

func TestErrorsOfServers(t *testing.T) {
	for name, test := range map[string]struct {
		step      modeltest.ScriptedReply
		want      agent.ModelError
		temporary bool
	}{
		"too many": {modeltest.ScriptedReply{Status: 429, Header: map[string]string{"Retry-After": "7"}, Text: "slow down"},
			agent.ModelError{Status: 429, RetryAfter: 7 * time.Second, Message: "429 Too Many Requests: slow down"}, true},
		"a fault": {modeltest.ScriptedReply{Status: 500, Text: "oops"}, agent.ModelError{Status: 500, Message: "500 Internal"}, true},
		"not ours to repeat": {modeltest.ScriptedReply{Status: 401, Text: "bad key " + key},
			agent.ModelError{Status: 401, Message: "bad key [secret]"}, false},
		"too long": {modeltest.ScriptedReply{Status: 400, Text: "maximum context length is 8"},
			agent.ModelError{Status: 400, TooLong: true, Message: "context length"}, false},
		"elsewhere": {modeltest.ScriptedReply{Status: 302, Header: map[string]string{"Location": "http://127.0.0.1:1/"}},
			agent.ModelError{Status: 302, Message: "does not get the key"}, false},
		"hangs up": {modeltest.ScriptedReply{Text: "half an", HangUp: true}, agent.ModelError{Message: "has not answered"}, true},
		"ends too early": {modeltest.ScriptedReply{Raw: []string{`{"choices":[{"delta":{"content":"half"}}]}`}},
			agent.ModelError{Message: "the answer is incomplete"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, server := model(t, test.step)
			_, err := m.Generate(t.Context(), ask("go"), nil)
			var failed *agent.ModelError
			if !errors.As(err, &failed) {
				t.Fatalf("the error is %v", err)
			}
			if failed.Status != test.want.Status || failed.RetryAfter != test.want.RetryAfter ||
				failed.TooLong != test.want.TooLong || failed.IsTemporary() != test.temporary ||
				!strings.Contains(failed.Message, test.want.Message) {
				t.Errorf("the error is %+v", failed)
			}
			if strings.Contains(err.Error(), key) {
				t.Errorf("the key is in %q", err)
			}
			if n := len(server.Requests()); n != 1 {
				t.Errorf("the SDK has asked %d times", n)
			}
		})
	}
}

func TestErrorsContainNoKey(t *testing.T) {
	broken := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusNotFound)
		_, _ = w.Write([]byte("<h1>not here, " + r.Header.Get("Authorization") + " " + strings.Repeat("x", 2000)))
	}))
	defer broken.Close()
	for _, base := range []string{broken.URL, "http://127.0.0.1:1", "http://u:" + key + "@127.0.0.1:1/" + key} {
		m, err := New(Options{Model: "test", BaseURL: base, Key: key})
		if err != nil {
			t.Fatal(err)
		}
		_, err = m.Generate(t.Context(), ask("go"), nil)
		if err == nil || strings.Contains(err.Error(), key) || len(err.Error()) > 1000 {
			t.Errorf("%s: %v", base, err)
		}
	}
	for _, base := range []string{"ftp://" + key, key, "http:// " + key} {
		if _, err := New(Options{Model: "test", BaseURL: base, Key: key}); err == nil || strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", base, err)
		}
	}
}

func TestEnvironmentIsIgnored(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from-the-environment")
	t.Setenv("OPENAI_ORG_ID", "from-the-environment")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Env: from-the-environment")
	server := modeltest.StartServer(modeltest.ScriptedReply{Text: "x"})
	defer server.Close()
	m, err := New(Options{Model: "test", BaseURL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Generate(t.Context(), ask("go"), nil); err != nil {
		t.Fatal(err)
	}
	for name, values := range server.Requests()[0].Header {
		if strings.Contains(strings.Join(values, " "), "from-the-environment") {
			t.Errorf("%s is sent", name)
		}
	}
}

func TestCancelledRequestReturnsCancellation(t *testing.T) {
	m, server := model(t, modeltest.ScriptedReply{Wait: make(chan struct{})})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		for len(server.Requests()) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
	}()
	if _, err := m.Generate(ctx, ask("go"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
}

func FuzzAssembly(f *testing.F) {
	for _, c := range deltas(`{"index":0,"id":"a","function":{"name":"read","arguments":"{\"p\":1}"}}`, `{"function":{"name":"x","arguments":{}}}`) {
		f.Add([]byte(c), []byte(`{"choices":[{"delta":{"content":"x","reasoning":"y"}}],"usage":{"prompt_tokens":1}}`))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		a := newReplyAssembler(nil)
		for _, data := range [][]byte{first, second, first} {
			if _, err := a.AddData(data); err != nil {
				return
			}
		}
		reply, err := a.BuildReply("test")
		if err != nil {
			return
		}
		if _, err := json.Marshal(reply.Message); err != nil {
			t.Fatalf("the message can't be kept: %v", err)
		}
		m, err := New(Options{Model: "test"})
		if err != nil {
			t.Fatal(err)
		}
		m.server.Protocol = reply.Message.From
		body, err := m.encodeRequest(agent.ModelRequest{Messages: []agent.Message{reply.Message}})
		if err != nil || !json.Valid(body) {
			t.Fatalf("it can't be sent back: %v", err)
		}
	})
}
