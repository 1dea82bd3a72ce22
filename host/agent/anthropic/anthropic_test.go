package anthropic

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/picoclaw/picoclaw/host/agent"
	"github.com/picoclaw/picoclaw/host/agent/modeltest"
)

const key = "sk-ant-this-is-a-secret"

func model(t *testing.T, steps ...modeltest.ScriptedReply) (*Model, *modeltest.FakeModelServer) {
	t.Helper()
	server := modeltest.StartServer(steps...)
	t.Cleanup(server.Close)
	m, err := New(Options{Model: "test", BaseURL: server.URL, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return m, server
}

func ask(text string) agent.ModelRequest {
	return agent.ModelRequest{System: "be good", Messages: []agent.Message{{Role: agent.User, Text: text}}, MaxTokens: 100}
}

// thinking is an answer that thinks, says something and calls a tool.
var thinking = []string{
	`{"type":"message_start","message":{"id":"m","usage":{"input_tokens":10,"cache_read_input_tokens":5,"cache_creation_input_tokens":2,"output_tokens":1}}}`,
	`{"type":"ping"}`,
	`{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"let me "}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"think"}}`,
	`{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln"}}`,
	`{"type":"content_block_stop","index":0}`,
	`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"b64"}}`,
	`{"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"I'll look"}}`,
	`{"type":"content_block_start","index":3,"content_block":{"type":"text","text":""}}`,
	`{"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"a","name":"read","input":{},"novel":1}}`,
	`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":""}}`,
	`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"{\"p\":"}}`,
	`{"type":"content_block_delta","index":4,"delta":{"type":"input_json_delta","partial_json":"1}"}}`,
	`{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":9}}`,
	`{"type":"message_stop"}`,
}

func TestBlocksAreSentBackAsTheyCame(t *testing.T) {
	m, server := model(t, modeltest.ScriptedReply{Raw: thinking}, modeltest.ScriptedReply{Text: "done"}, modeltest.ScriptedReply{Text: "done"})
	var said string
	reply, err := m.Generate(t.Context(), ask("go"), func(text string) { said += text })
	if err != nil {
		t.Fatal(err)
	}
	want := []agent.ToolCall{{ID: "a", Tool: "read", Arguments: json.RawMessage(`{"p":1}`)}}
	if diff := cmp.Diff(want, reply.Message.Calls); diff != "" || reply.Message.Text != "I'll look" || said != "I'll look" {
		t.Errorf("%q, %q: %s", reply.Message.Text, said, diff)
	}
	if want := (agent.TokenUsage{Input: 10, CacheRead: 5, CacheWrite: 2, Output: 9}); reply.Usage != want {
		t.Errorf("the usage is %+v", reply.Usage)
	}
	r := ask("go")
	r.Tools = []agent.ToolSpec{{Name: "read", Doc: "reads", Schema: json.RawMessage(`{"type":"object"}`)}}
	r.Messages = append(r.Messages, reply.Message, agent.Message{Role: agent.ToolResult, CallID: "a", Text: "data", Failed: true},
		agent.Message{Role: agent.User, Text: "and"})
	if _, err := m.Generate(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	sent := server.Requests()[1]
	var body struct {
		Messages []struct{ Content json.RawMessage }
	}
	if err := json.Unmarshal([]byte(sent.Body), &body); err != nil {
		t.Fatal(err)
	}
	const blocks = `[{"signature":"c2ln","thinking":"let me think","type":"thinking"},{"data":"b64","type":"redacted_thinking"},` +
		`{"text":"I'll look","type":"text"},{"id":"a","input":{"p":1},"name":"read","novel":1,"type":"tool_use"}]`
	if diff := cmp.Diff(blocks, string(body.Messages[1].Content)); diff != "" {
		t.Error(diff)
	}
	const results = `[{"content":"data","is_error":true,"tool_use_id":"a","type":"tool_result"},` +
		`{"cache_control":{"type":"ephemeral"},"text":"and","type":"text"}]`
	if diff := cmp.Diff(results, string(body.Messages[2].Content)); diff != "" {
		t.Error(diff)
	}
	if sent.Header.Get("X-Api-Key") != key || sent.Header.Get("Anthropic-Version") == "" {
		t.Errorf("the headers are %v", sent.Header)
	}

	r.Messages[1].From, r.Messages[1].Calls[0].Arguments = "openai elsewhere", json.RawMessage(`"{\"p\":"`)
	if _, err := m.Generate(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	if sent := server.Requests()[2].Body; strings.Contains(sent, "thinking") || !strings.Contains(sent, `{"malformed":"{\"p\":"}`) {
		t.Errorf("it sends %s", sent)
	}
}

func TestMalformedReplyNamesProblem(t *testing.T) {
	for want, raw := range map[string]string{
		"an event is not one":          `{"type":7}`,
		"an error has no type":         `{"type":"error"}`,
		"block 1 begins twice":         `{"type":"content_block_start","index":1}`,
		"has not begun":                `{"type":"content_block_delta","index":7,"delta":{"type":"text_delta","text":"x"}}`,
		"usage is not one":             `{"type":"message_delta","delta":{},"usage":[]}`,
		"a piece has no type":          `{"type":"content_block_delta","index":0,"delta":{"text":"x"}}`,
		"partial_json is no text":      `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":7}}`,
		"a call has no id":             `{"type":"content_block_start","index":2,"content_block":{"type":"tool_use"}}`,
		"answered 529":                 `{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`,
		"answered 400 Bad Request: no": `{"type":"error","error":{"type":"invalid_request_error","message":"no"}}`,
	} {
		m, _ := model(t, modeltest.ScriptedReply{Raw: []string{
			`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}`, raw, `{"type":"message_stop"}`}})
		_, err := m.Generate(t.Context(), ask("go"), nil)
		var failed *agent.ModelError
		if !errors.As(err, &failed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: the error is %v", raw, err)
		}
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
		"not ours to repeat": {modeltest.ScriptedReply{Status: 401, Text: "bad key " + key},
			agent.ModelError{Status: 401, Message: "bad key [secret]"}, false},
		"too long": {modeltest.ScriptedReply{Status: 400, Text: "prompt is too long: 9 > 8"},
			agent.ModelError{Status: 400, TooLong: true, Message: "too long"}, false},
		"hangs up":       {modeltest.ScriptedReply{Text: "half an", HangUp: true}, agent.ModelError{Message: "has not answered"}, true},
		"ends too early": {modeltest.ScriptedReply{Raw: thinking[:5]}, agent.ModelError{Message: "the answer is incomplete"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := model(t, test.step)
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
		})
	}
}

func TestEnvironmentIsIgnored(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "from-the-environment")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	t.Setenv("ANTHROPIC_CUSTOM_HEADERS", "X-Env: from-the-environment")
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

func FuzzAssembly(f *testing.F) {
	for i := range thinking[1:] {
		f.Add([]byte(thinking[i]), []byte(thinking[i+1]), []byte(thinking[max(i-1, 0)]))
	}
	f.Fuzz(func(t *testing.T, first, second, third []byte) {
		a := &replyAssembler{blocks: map[int]*contentBlock{}}
		for _, data := range [][]byte{first, second, third} {
			if _, err := a.AddData(data); err != nil {
				return
			}
		}
		m, err := New(Options{Model: "test"})
		if err != nil {
			t.Fatal(err)
		}
		reply, err := a.BuildReply(m.server.Protocol)
		if err != nil {
			return
		}
		if _, err := json.Marshal(reply.Message); err != nil {
			t.Fatalf("the message can't be kept: %v", err)
		}
		body, err := m.encodeRequest(agent.ModelRequest{Messages: []agent.Message{reply.Message}})
		if err != nil || !json.Valid(body) {
			t.Fatalf("it can't be sent back: %v", err)
		}
	})
}
