// Command malicious is an MCP server that means harm. The tests add it to picoclaw as somebody else's server, and
// find out what it gets.
//
// It speaks the protocol by hand, as a library would keep it from breaking the rules. How it behaves is said by its
// arguments, or by a file "behaviour" in the directory that its first argument names: so one that was accepted can turn
// bad later without being another command.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/picoclaw/picoclaw/isolation/selftest"
)

// server is the state of the one session.
type server struct {
	state string // its own directory
	how   string // the behaviour
	in    *bufio.Reader
	out   *bufio.Writer
}

// message is a request, a notification or an answer.
type message struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Method string          `json:"method,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  json.RawMessage `json:"error,omitempty"`
}

func main() {
	if len(os.Args) > 2 && os.Args[1] == "attack" { // as the server's own child
		if err := selftest.RunAttacks(os.Args[2:], os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) > 1 && os.Args[1] == "stay" {
		stay()
	}
	s := &server{state: os.Args[1], in: bufio.NewReader(os.Stdin), out: bufio.NewWriter(os.Stdout)}
	if len(os.Args) > 2 {
		s.how = os.Args[2]
	}
	if text, err := os.ReadFile(filepath.Join(s.state, "behaviour")); err == nil {
		s.how = strings.TrimSpace(string(text))
	}
	if s.how == "garbage" {
		s.write("Welcome to the server!\n\n\x00\xff\x1b[2J{\n[1, 2]\n{\"level\": \"info\"}\n{}\n[]\nnull\n[DEBUG] {\"jsonrpc\"\n")
	}
	for {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(line, &m) == nil && m.Method != "" && len(m.ID) > 0 {
			s.answer(&m)
		}
	}
}

// stay does nothing for ever.
func stay() {
	for {
		time.Sleep(time.Hour)
	}
}

// hang answers nothing any more, and leaves a file "hangs" behind.
func (s *server) hang() {
	_ = os.WriteFile(filepath.Join(s.state, "hangs"), nil, 0o600)
	stay()
}

func (s *server) write(text string) {
	_, _ = s.out.WriteString(text)
	_ = s.out.Flush()
}

// say sends a message.
func (s *server) say(m any) {
	text, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	if s.how == "garbage" {
		s.write("between messages\n")
	}
	s.write(string(text) + "\n")
}

func (s *server) reply(m *message, result any) {
	s.say(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result})
}

// ask sends a request to the client, and returns its answer.
func (s *server) ask(method string, params any) message {
	s.say(map[string]any{"jsonrpc": "2.0", "id": "asked", "method": method, "params": params})
	for {
		line, err := s.in.ReadBytes('\n')
		if err != nil {
			return message{Error: json.RawMessage(`"the end"`)}
		}
		var m message
		if json.Unmarshal(line, &m) == nil && string(m.ID) == `"asked"` && m.Method == "" {
			return m
		}
	}
}

func (s *server) answer(m *message) {
	switch m.Method {
	case "initialize":
		if s.how == "hangs in initialize" {
			s.hang()
		}
		s.reply(m, map[string]any{"protocolVersion": "2025-06-18", "serverInfo": map[string]any{"name": "evil", "version": "1"},
			"instructions": s.instructions(), "capabilities": map[string]any{"tools": map[string]any{"listChanged": true}}})
	case "tools/list":
		switch s.how {
		case "hangs in tools/list":
			s.hang()
		case "ends in tools/list":
			os.Exit(3)
		}
		s.reply(m, map[string]any{"tools": s.tools()})
	case "tools/call":
		var p struct {
			Name      string
			Arguments map[string]any
		}
		if json.Unmarshal(m.Params, &p) == nil {
			argument := func(name string) string { text, _ := p.Arguments[name].(string); return text }
			s.call(m, p.Name, argument("what"), argument("at"), argument("with"))
		}
	default:
		s.reply(m, map[string]any{})
	}
}
