// Package modeltest simulates a language model for tests, with OpenAI's chat completions and Anthropic's messages
// protocol, streaming. A script has one step per request; requests are recorded. It must not know its callers.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// ScriptedReply is the scripted response to one request.
type ScriptedReply struct {
	Text  string // sent word by word
	Calls []ScriptedCall
	Usage *ScriptedUsage // nil sends none

	Raw    []string // event data instead of text and calls
	HangUp bool     // closes the connection before the end

	Status int // other than 200: an error with Text as its message
	Header map[string]string

	Wait <-chan struct{} // delays the answer; ends with the request
}

// ScriptedCall is a tool call in a response. The server sends its arguments in two pieces.
type ScriptedCall struct{ ID, Tool, Arguments string }

// ScriptedUsage is the token usage of a response.
type ScriptedUsage struct{ Input, Output, Cached int }

// FakeModelServer is a scripted model server with the protocols of Anthropic and OpenAI. OpenAI clients append "/v1" to its
// URL.
type FakeModelServer struct {
	*httptest.Server

	mu       sync.Mutex
	script   []ScriptedReply
	requests []RecordedRequest
}

// RecordedRequest is a request to the server.
type RecordedRequest struct {
	Path   string
	Header http.Header
	Body   string
}

// StartServer starts a server; the caller closes it.
func StartServer(script ...ScriptedReply) *FakeModelServer {
	s := &FakeModelServer{script: script}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serveHTTP))
	return s
}

// Requests returns the requests so far.
func (s *FakeModelServer) Requests() []RecordedRequest {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]RecordedRequest(nil), s.requests...)
}

// AddReplies appends replies to the script.
func (s *FakeModelServer) AddReplies(script ...ScriptedReply) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, script...)
}

// nextReply records a request and returns its reply.
func (s *FakeModelServer) nextReply(r *http.Request) ScriptedReply {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, RecordedRequest{r.URL.Path, r.Header.Clone(), string(body)})
	if err != nil || !json.Valid(body) {
		return ScriptedReply{Status: http.StatusBadRequest, Text: fmt.Sprintf("the request is no JSON (%v)", err)}
	}
	if len(s.script) == 0 {
		return ScriptedReply{Status: http.StatusTeapot, Text: "the script has ended"}
	}
	step := s.script[0]
	s.script = s.script[1:]
	return step
}

func (s *FakeModelServer) serveHTTP(w http.ResponseWriter, r *http.Request) {
	step := s.nextReply(r)
	if step.Wait != nil {
		select {
		case <-step.Wait:
		case <-r.Context().Done():
			return
		}
	}
	for name, value := range step.Header {
		w.Header().Set(name, value)
	}
	if step.Status != 0 && step.Status != http.StatusOK {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(step.Status)
		fmt.Fprintf(w, `{"type":"error","error":{"type":"test","message":%s}}`, quoteJSON(step.Text))
		return
	}
	events, last := openAIEvents(step)
	if strings.HasSuffix(r.URL.Path, "/messages") {
		events, last = anthropicEvents(step)
	}
	if step.Raw != nil {
		events = step.Raw
	}
	if !step.HangUp && step.Raw == nil {
		events = append(events, last...)
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		fmt.Fprintf(w, "data: %s\n\n", e)
	}
	if step.HangUp {
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		panic(http.ErrAbortHandler)
	}
}

// openAIEvents returns the OpenAI stream events of a reply; last are the final ones.
func openAIEvents(s ScriptedReply) (events, last []string) {
	delta := func(format string, args ...any) {
		events = append(events, fmt.Sprintf(`{"choices":[{"index":0,"delta":{%s}}]}`, fmt.Sprintf(format, args...)))
	}
	reason := "stop"
	for _, word := range strings.SplitAfter(s.Text, " ") {
		delta(`"role":"assistant","content":%s`, quoteJSON(word))
	}
	for i, c := range s.Calls {
		reason = "tool_calls"
		half := len(c.Arguments) / 2
		delta(`"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]`,
			i, quoteJSON(c.ID), quoteJSON(c.Tool), quoteJSON(c.Arguments[:half]))
		delta(`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`, i, quoteJSON(c.Arguments[half:]))
	}
	last = append(last, fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason))
	if u := s.Usage; u != nil {
		prompt := fmt.Sprint(u.Input)
		if u.Cached > 0 {
			prompt = fmt.Sprint(uint64(u.Input) + uint64(u.Cached)) // includes cached tokens
		}
		last = append(last, fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%s,"completion_tokens":%d,`+
			`"prompt_tokens_details":{"cached_tokens":%d}}}`, prompt, u.Output, u.Cached))
	}
	return events, append(last, "[DONE]")
}

// anthropicEvents returns the Anthropic stream events of a reply; last are the final ones.
func anthropicEvents(s ScriptedReply) (events, last []string) {
	add := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	var u ScriptedUsage
	if s.Usage != nil {
		u = *s.Usage
	}
	add(`{"type":"message_start","message":{"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":0}}}`,
		u.Input, u.Cached)
	index := 0
	if s.Text != "" {
		add(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		for _, word := range strings.SplitAfter(s.Text, " ") {
			add(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, quoteJSON(word))
		}
		add(`{"type":"content_block_stop","index":0}`)
		index++
	}
	reason := "end_turn"
	for _, c := range s.Calls {
		reason = "tool_use"
		half := len(c.Arguments) / 2
		add(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}}`,
			index, quoteJSON(c.ID), quoteJSON(c.Tool))
		for _, piece := range []string{c.Arguments[:half], c.Arguments[half:]} {
			add(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`,
				index, quoteJSON(piece))
		}
		add(`{"type":"content_block_stop","index":%d}`, index)
		index++
	}
	return events, []string{
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":%d}}`, reason, u.Output),
		`{"type":"message_stop"}`,
	}
}

// quoteJSON encodes text as a JSON string.
func quoteJSON(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return `""` // can't happen
	}
	return string(out)
}
