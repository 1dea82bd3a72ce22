package mcp

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// rejected is how a message is answered that is not done.
type rejected struct {
	ID    any
	Error struct {
		Code    int64
		Message string
	}
}

// overLines returns how to send a message over two streams and have its answer.
func overLines(t *testing.T, begin bool) func(message string) string {
	t.Helper()
	in, input := io.Pipe()
	answers, output := io.Pipe()
	server := NewServer(nothing{}, "test", "")
	session, err := server.Connect(t.Context(), Lines{Reader: in, Writer: output}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = answers.Close()
		_ = input.Close()
		_ = session.Close()
	})
	lines := bufio.NewReader(answers)
	send := func(message string) string {
		if _, err := io.WriteString(input, message+"\n"); err != nil {
			t.Fatal(err)
		}
		line, err := lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return line
	}
	if begin {
		send(hello)
	}
	return send
}

// overHTTP is the same over HTTP.
func overHTTP(t *testing.T, begin bool) func(message string) string {
	t.Helper()
	post := serve(t, HTTPOptions{})
	session := ""
	if begin {
		var status int
		if status, _, session = post("", hello); status != http.StatusOK {
			t.Fatalf("the session begins with %d", status)
		}
	}
	return func(message string) string {
		_, answer, _ := post(session, message)
		if _, data, found := strings.Cut(answer, "data: "); found {
			return data
		}
		return answer
	}
}

// What can't be done is answered alike over both transports: by the protocol's code, under the id of the request, in words
// of the protocol's and not of the program's.
func TestErrorsAreInWords(t *testing.T) {
	const allLevels = "the levels are debug, info, notice, warning, error, critical, alert, emergency"
	call := func(params string) string {
		return `{"jsonrpc":"2.0","id":"a","method":"tools/call","params":` + params + `}`
	}
	for name, test := range map[string]struct {
		message string
		early   bool // before initialize
		id      any
		code    int64
		want    string
	}{
		"a list as params":   {call(`[1]`), false, "a", jsonrpc.CodeInvalidParams, "tools/call: params have to be an object, not an array"},
		"a text as params":   {call(`"x"`), false, "a", jsonrpc.CodeInvalidParams, "tools/call: params have to be an object, not a string"},
		"null as params":     {call(`null`), false, "a", jsonrpc.CodeInvalidParams, "tools/call: params are missing; they have the tool's name and its arguments"},
		"no name":            {call(`{}`), false, "a", jsonrpc.CodeInvalidParams, "tools/call: params have no name; it is that of a tool, as tools/list has it"},
		"a number as name":   {call(`{"name":5}`), false, "a", jsonrpc.CodeInvalidParams, "tools/call: name has to be a string, not a number"},
		"no such tool":       {call(`{"name":"nope"}`), false, "a", jsonrpc.CodeInvalidParams, `there is no tool "nope" here; tools/list has those that there are`},
		"a number as meta":   {`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":5}}`, false, 7.0, jsonrpc.CodeInvalidParams, "ping: _meta has to be an object, not a number"},
		"a cursor":           {`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"x"}}`, false, 7.0, jsonrpc.CodeInvalidParams, "the cursor is none that this server gave; leave it out to list from the beginning"},
		"no such method":     {`{"jsonrpc":"2.0","id":7,"method":"tools/lst"}`, false, 7.0, jsonrpc.CodeMethodNotFound, `there is no method "tools/lst" here; did you mean "tools/list"?`},
		"a level":            {`{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"loud"}}`, false, 7.0, jsonrpc.CodeInvalidParams, `logging/setLevel: there is no level "loud"; ` + allLevels},
		"nearly a level":     {`{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"Warning"}}`, false, 7.0, jsonrpc.CodeInvalidParams, `logging/setLevel: there is no level "Warning"; did you mean "warning"?; ` + allLevels},
		"no level":           {`{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{}}`, false, 7.0, jsonrpc.CodeInvalidParams, "logging/setLevel: params have no level; it is one of debug, info, notice, warning, error, critical, alert, emergency"},
		"a number as level":  {`{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":5}}`, false, 7.0, jsonrpc.CodeInvalidParams, "logging/setLevel: level in params is of another type than the protocol has it"},
		"a number as state":  {call(`{"name":"x","requestState":5}`), false, "a", jsonrpc.CodeInvalidParams, "tools/call: requestState in params is of another type than the protocol has it"},
		"a number as answer": {call(`{"name":"x","inputResponses":{"allow":5}}`), false, "a", jsonrpc.CodeInvalidParams, "tools/call: inputResponses in params is of another type than the protocol has it"},
		"a number as cursor": {`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":5}}`, false, 7.0, jsonrpc.CodeInvalidParams, "tools/list: cursor in params is of another type than the protocol has it"},
		"a text as client":   {`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":"x"}}`, true, 7.0, jsonrpc.CodeInvalidParams, "initialize: clientInfo in params is of another type than the protocol has it"},
		"nothing to begin":   {`{"jsonrpc":"2.0","id":7,"method":"initialize"}`, true, 7.0, jsonrpc.CodeInvalidParams, "initialize: params are missing; they have protocolVersion, capabilities and clientInfo"},
		"a method to come":   {`{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}}`, false, 7.0, jsonrpc.CodeMethodNotFound, `there is no method "subscriptions/listen" here`},
		"an end with an id":  {`{"jsonrpc":"2.0","id":7,"method":"notifications/cancelled","params":{"requestId":1,"reason":5}}`, false, 7.0, jsonrpc.CodeInvalidRequest, "notifications/cancelled is a notification, and has no id"},
		"a notification":     {`{"jsonrpc":"2.0","id":7,"method":"notifications/initialized"}`, false, 7.0, jsonrpc.CodeInvalidRequest, "notifications/initialized is a notification, and has no id"},
		"early":              {`{"jsonrpc":"2.0","id":7,"method":"tools/list"}`, true, 7.0, jsonrpc.CodeInvalidRequest, "tools/list comes before initialize; send initialize first, then notifications/initialized"},
		"twice":              {hello, false, 1.0, jsonrpc.CodeInvalidRequest, "this session is initialized already; go on with it, or connect again to begin another"},
		"a text as message":  {`"x"`, false, nil, jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message: it is a string, not an object; send one message at a time"},
		"half":               {`{"jsonrpc":`, false, nil, jsonrpc.CodeParseError, "not a JSON-RPC 2.0 message: it is not JSON: unexpected end of JSON input"},
		"another version":    {`{"jsonrpc":"1.0","id":7,"method":"ping"}`, false, 7.0, jsonrpc.CodeInvalidRequest, `not a JSON-RPC 2.0 message: it has to have "jsonrpc":"2.0"`},
		"a number as method": {`{"jsonrpc":"2.0","id":7,"method":5}`, false, 7.0, jsonrpc.CodeInvalidRequest, `not a JSON-RPC 2.0 message: its "method" has to be a string`},
		"an object as id":    {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, false, nil, jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message: an id has to be a string or a number; a notification has no id"},
		"null as id":         {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, false, nil, jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message: an id has to be a string or a number; a notification has no id"},
		"a part as id":       {`{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, false, 1.5, jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message: an id that is a number has to be a whole one, and at most 2^53; or make it a string"},
		"an id too large":    {`{"jsonrpc":"2.0","id":9007199254740993,"method":"ping"}`, false, 9007199254740993.0, jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message: an id that is a number has to be a whole one, and at most 2^53; or make it a string"},
		"half a character":   {`{"jsonrpc":"2.0","id":"\ud800","method":"ping"}`, false, "\ufffd", jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message: an id that is a string has to be valid UTF-8, without single surrogates"},
		"neither":            {`{"jsonrpc":"2.0","error":5}`, false, nil, jsonrpc.CodeInvalidRequest, "not a JSON-RPC 2.0 message: it has no method, and is no answer with an id and a result or an error either"},
	} {
		for transport, connect := range map[string]func(*testing.T, bool) func(string) string{"lines": overLines, "HTTP": overHTTP} {
			t.Run(name+" over "+transport, func(t *testing.T) {
				answer := connect(t, !test.early)(test.message)
				var got, want rejected
				want.ID, want.Error.Code, want.Error.Message = test.id, test.code, test.want
				if err := json.Unmarshal([]byte(answer), &got); err != nil {
					t.Fatalf("%v: %s", err, answer)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}

// All levels that there are can be set.
func TestEveryLevelIsTaken(t *testing.T) {
	send := overLines(t, true)
	for _, level := range levels() {
		if got := send(`{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"` + level + `"}}`); !strings.Contains(got, `"result":{}`) {
			t.Errorf("%s: %s", level, got)
		}
	}
}

// An empty list is what some clients send that have nothing to say.
func TestAnEmptyListIsNoMessage(t *testing.T) {
	for transport, connect := range map[string]func(*testing.T, bool) func(string) string{"lines": overLines, "HTTP": overHTTP} {
		var got rejected
		answer := connect(t, true)(`[]`)
		if err := json.Unmarshal([]byte(answer), &got); err != nil || got.Error.Code != jsonrpc.CodeInvalidRequest ||
			!strings.Contains(got.Error.Message, "send one message at a time") {
			t.Errorf("%s: %s (%v)", transport, answer, err)
		}
	}
}

// Of two requests with one id the second is refused, and the first is answered.
func TestAnIDIsOfOneRequestAtATime(t *testing.T) {
	answers, writer := io.Pipe()
	again := `{"jsonrpc":"2.0","id":3,"method":"ping"}`
	c, err := Lines{Reader: strings.NewReader(strings.Repeat(again+"\n", 2)), Writer: writer}.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	first, err := c.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	read := bufio.NewReader(answers)
	answer, err := read.ReadString('\n')
	if err != nil || !strings.Contains(answer, "give each request an id of its own") {
		t.Errorf("the second is answered with %s (%v)", answer, err)
	}
	written := make(chan error, 1)
	go func() {
		written <- c.Write(t.Context(), &jsonrpc.Response{ID: first.(*jsonrpc.Request).ID, Result: json.RawMessage(`{}`)})
	}()
	answer, err = read.ReadString('\n')
	if want := fmt.Sprintln(`{"jsonrpc":"2.0","id":3,"result":{}}`); err != nil || answer != want {
		t.Errorf("the first is answered with %s (%v)", answer, err)
	}
	if err := <-written; err != nil {
		t.Error(err)
	}
}
