// Package modeltest plays a language model to tests, by OpenAI's chat completions protocol and by Anthropic's messages
// protocol, streaming. What it answers is a script, a step a request; what it is asked can be looked at. It must not
// know who asks.
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

// Step is the answer to one request.
type Step struct {
	Text  string // comes in pieces, a word each
	Calls []Call
	Usage *Usage // nil for a server that does not tell

	Raw    []string // the data of events, in place of those of text and calls
	HangUp bool     // the connection breaks off where the answer would end

	Status int // other than 200: the answer is an error, with Text as its message
	Header map[string]string

	Wait <-chan struct{} // before anything is answered; the end of the request ends it
}

// Call is a tool call of an answer. Its arguments come in two pieces.
type Call struct{ ID, Tool, Arguments string }

// Usage is what an answer says that it has used.
type Usage struct{ Input, Output, Cached int }

// Server plays a model. Both protocols are served at its URL; clients of OpenAI's have "/v1" behind it.
type Server struct {
	*httptest.Server

	mu       sync.Mutex
	script   []Step
	requests []Request
}

// Request is what the server was asked.
type Request struct {
	Path   string
	Header http.Header
	Body   string
}

// Start starts a server, which the caller closes.
func Start(script ...Step) *Server {
	s := &Server{script: script}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	return s
}

// Requests are those that have come.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.requests...)
}

// Add adds steps to the script.
func (s *Server) Add(script ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, script...)
}

// next notes a request and returns the step that answers it.
func (s *Server) next(r *http.Request) Step {
	body, err := io.ReadAll(r.Body)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{r.URL.Path, r.Header.Clone(), string(body)})
	if err != nil || !json.Valid(body) {
		return Step{Status: http.StatusBadRequest, Text: fmt.Sprintf("the request is no JSON (%v)", err)}
	}
	if len(s.script) == 0 {
		return Step{Status: http.StatusTeapot, Text: "the script has ended"}
	}
	step := s.script[0]
	s.script = s.script[1:]
	return step
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	step := s.next(r)
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
		fmt.Fprintf(w, `{"type":"error","error":{"type":"test","message":%s}}`, quoted(step.Text))
		return
	}
	events, last := openAI(step)
	if strings.HasSuffix(r.URL.Path, "/messages") {
		events, last = anthropic(step)
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

// openAI are the events of a step, and the last ones that say that it is whole.
func openAI(s Step) (events, last []string) {
	delta := func(format string, args ...any) {
		events = append(events, fmt.Sprintf(`{"choices":[{"index":0,"delta":{%s}}]}`, fmt.Sprintf(format, args...)))
	}
	reason := "stop"
	for _, word := range strings.SplitAfter(s.Text, " ") {
		delta(`"role":"assistant","content":%s`, quoted(word))
	}
	for i, c := range s.Calls {
		reason = "tool_calls"
		half := len(c.Arguments) / 2
		delta(`"tool_calls":[{"index":%d,"id":%s,"type":"function","function":{"name":%s,"arguments":%s}}]`,
			i, quoted(c.ID), quoted(c.Tool), quoted(c.Arguments[:half]))
		delta(`"tool_calls":[{"index":%d,"function":{"arguments":%s}}]`, i, quoted(c.Arguments[half:]))
	}
	last = append(last, fmt.Sprintf(`{"choices":[{"index":0,"delta":{},"finish_reason":%q}]}`, reason))
	if u := s.Usage; u != nil {
		prompt := fmt.Sprint(u.Input)
		if u.Cached > 0 {
			prompt = fmt.Sprint(uint64(u.Input) + uint64(u.Cached)) // it contains these
		}
		last = append(last, fmt.Sprintf(`{"choices":[],"usage":{"prompt_tokens":%s,"completion_tokens":%d,`+
			`"prompt_tokens_details":{"cached_tokens":%d}}}`, prompt, u.Output, u.Cached))
	}
	return events, append(last, "[DONE]")
}

// anthropic are the same in the other protocol.
func anthropic(s Step) (events, last []string) {
	add := func(format string, args ...any) { events = append(events, fmt.Sprintf(format, args...)) }
	var u Usage
	if s.Usage != nil {
		u = *s.Usage
	}
	add(`{"type":"message_start","message":{"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":0}}}`,
		u.Input, u.Cached)
	index := 0
	if s.Text != "" {
		add(`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`)
		for _, word := range strings.SplitAfter(s.Text, " ") {
			add(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, quoted(word))
		}
		add(`{"type":"content_block_stop","index":0}`)
		index++
	}
	reason := "end_turn"
	for _, c := range s.Calls {
		reason = "tool_use"
		half := len(c.Arguments) / 2
		add(`{"type":"content_block_start","index":%d,"content_block":{"type":"tool_use","id":%s,"name":%s,"input":{}}}`,
			index, quoted(c.ID), quoted(c.Tool))
		for _, piece := range []string{c.Arguments[:half], c.Arguments[half:]} {
			add(`{"type":"content_block_delta","index":%d,"delta":{"type":"input_json_delta","partial_json":%s}}`,
				index, quoted(piece))
		}
		add(`{"type":"content_block_stop","index":%d}`, index)
		index++
	}
	return events, []string{
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":%q},"usage":{"output_tokens":%d}}`, reason, u.Output),
		`{"type":"message_stop"}`,
	}
}

// quoted is a text as JSON.
func quoted(text string) string {
	out, err := json.Marshal(text)
	if err != nil {
		return `""` // texts have no error
	}
	return string(out)
}
