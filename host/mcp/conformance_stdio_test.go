//go:build long && linux

package mcp_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"testing"
)

// stdioBridge serves MCP over HTTP by servers over stdio: one for each session of an older protocol version, and one
// for all stateless requests.
type stdioBridge struct {
	t        *testing.T
	picoclaw string
	env      []string

	mu      sync.Mutex
	servers map[string]*stdioServer // by session id, "" is that of stateless requests
}

// newStdioBridge returns a bridge without servers.
func newStdioBridge(t *testing.T, picoclaw string, env []string) *stdioBridge {
	b := &stdioBridge{t: t, picoclaw: picoclaw, env: env, servers: map[string]*stdioServer{}}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, s := range b.servers {
			s.close()
		}
	})
	return b
}

// message is a JSON-RPC message whose members keep their text.
type message map[string]json.RawMessage

// bridgedMessage parses a message.
func bridgedMessage(text []byte) (m message) {
	_ = json.Unmarshal(text, &m) // an invalid message has no members
	return m
}

// ServeHTTP passes on a message, and answers with the server's messages until the response.
func (b *stdioBridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	m := bridgedMessage(body)
	id, stateless := r.Header.Get("Mcp-Session-Id"), r.Header.Get("Mcp-Protocol-Version") >= "2026-07-28"
	switch {
	case err != nil || r.Method != http.MethodPost && r.Method != http.MethodDelete:
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	case stateless:
		id = ""
	case string(m["method"]) == `"initialize"`:
		b.mu.Lock()
		id = "session-" + strconv.Itoa(len(b.servers))
		b.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", id)
	}
	s := b.serverOf(id, stateless || w.Header().Get("Mcp-Session-Id") != "")
	if s == nil {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	if r.Method == http.MethodDelete {
		s.close()
		return
	}
	s.exchange(w, r, m)
}

// serverOf returns the server of a session, and starts it if necessary.
func (b *stdioBridge) serverOf(id string, start bool) *stdioServer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.servers[id]; s != nil || !start {
		if s != nil && s.hasEnded() {
			return nil
		}
		return s
	}
	s := &stdioServer{command: exec.Command(b.picoclaw, "mcp"), waiting: map[int]*waitingRequest{}}
	s.command.Env = b.env
	input, err := s.command.StdinPipe()
	if err != nil {
		b.t.Error(err)
		return nil
	}
	output, err := s.command.StdoutPipe()
	if err == nil {
		err = s.command.Start()
	}
	if err != nil {
		b.t.Error(err)
		return nil
	}
	s.input = input
	go s.readMessages(output)
	b.servers[id] = s
	return s
}

// stdioServer is a process that serves MCP over stdio.
type stdioServer struct {
	command *exec.Cmd
	once    sync.Once

	mu      sync.Mutex
	input   io.WriteCloser
	ended   bool
	last    int // id of the last request
	waiting map[int]*waitingRequest
}

// waitingRequest is a request without a response.
type waitingRequest struct {
	id       json.RawMessage // the client's
	listens  bool
	messages chan message
}

// close ends the server.
func (s *stdioServer) close() {
	s.once.Do(func() {
		s.mu.Lock()
		s.ended = true
		_ = s.input.Close()
		s.mu.Unlock()
		_ = s.command.Wait()
	})
}

// hasEnded reports whether close was called.
func (s *stdioServer) hasEnded() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended
}

// send writes a message.
func (s *stdioServer) send(m message) {
	text, _ := json.Marshal(m) // marshalling can't fail
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.input.Write(append(text, '\n'))
}

// exchange sends a client's message, with an id of the bridge, and writes what the server sends until the response.
func (s *stdioServer) exchange(w http.ResponseWriter, r *http.Request, m message) {
	if m["id"] == nil || m["method"] == nil {
		s.send(m)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	request := &waitingRequest{m["id"], string(m["method"]) == `"subscriptions/listen"`, make(chan message, 100)}
	s.mu.Lock()
	s.last++
	id := s.last
	s.waiting[id] = request
	s.mu.Unlock()
	m["id"] = json.RawMessage(strconv.Itoa(id))
	s.send(m)
	for started := false; ; started = true {
		select {
		case <-r.Context().Done():
			s.send(message{"jsonrpc": json.RawMessage(`"2.0"`), "method": json.RawMessage(`"notifications/cancelled"`),
				"params": json.RawMessage(fmt.Sprintf(`{"requestId":%d}`, id))})
			return
		case answer := <-request.messages:
			text, _ := json.Marshal(answer) // marshalling can't fail
			if answer["error"] != nil && !started {
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(errorStatus(answer["error"]))
				_, _ = w.Write(text)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = fmt.Fprintf(w, "event: message\ndata: %s\n\n", text)
			_ = http.NewResponseController(w).Flush()
			if answer["method"] == nil {
				return
			}
		}
	}
}

// errorStatus returns the HTTP status for an error that is the only message.
func errorStatus(text json.RawMessage) int {
	var e struct{ Code int }
	_ = json.Unmarshal(text, &e)
	switch e.Code {
	case -32601:
		return http.StatusNotFound
	case -32602, -32021, -32022:
		return http.StatusBadRequest
	}
	return http.StatusOK
}

// readMessages passes on the server's messages: responses to their requests, notifications of a subscription to the
// subscription, and others to the newest request.
func (s *stdioServer) readMessages(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		m := bridgedMessage(line)
		s.mu.Lock()
		id, _ := strconv.Atoi(string(m["id"]))
		if m["method"] != nil {
			id = s.subscriptionOf(m)
		}
		request := s.waiting[id]
		if m["method"] == nil {
			delete(s.waiting, id)
		}
		s.mu.Unlock()
		if request == nil {
			continue
		}
		if m["method"] == nil {
			m["id"] = request.id
		}
		request.messages <- m
	}
}

// subscriptionOf returns the id of the request that a notification or a question belongs to, and gives the
// notification the client's id of its subscription. The caller holds s.mu.
func (s *stdioServer) subscriptionOf(m message) int {
	const key = "io.modelcontextprotocol/subscriptionId"
	var params struct {
		Meta map[string]any `json:"_meta"`
	}
	_ = json.Unmarshal(m["params"], &params)
	if id, ok := params.Meta[key].(float64); ok && s.waiting[int(id)] != nil {
		m["params"] = bytes.Replace(m["params"], fmt.Appendf(nil, `"%s":%d`, key, int(id)),
			fmt.Appendf(nil, `"%s":%s`, key, s.waiting[int(id)].id), 1)
		return int(id)
	}
	for _, id := range slices.Backward(slices.Sorted(maps.Keys(s.waiting))) {
		if !s.waiting[id].listens {
			return id
		}
	}
	return 0
}
