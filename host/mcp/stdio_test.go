package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

func TestInvalidLineIsAnswered(t *testing.T) {
	ping := `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	for name, test := range map[string]struct {
		line string
		id   any
		code float64
	}{
		"garbage":    {"garbage", nil, jsonrpc.CodeParseError},
		"half":       {`{"jsonrpc":"2.0",`, nil, jsonrpc.CodeParseError},
		"no message": {`{"a":1}`, nil, jsonrpc.CodeInvalidRequest},
		"a number":   {`7`, nil, jsonrpc.CodeInvalidRequest},
		"too long": {`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", maxMessage) + `"}`, 1.0,
			jsonrpc.CodeInvalidRequest},
		"no method": {`{"jsonrpc":"2.0","id":5,"method":7}`, 5.0, jsonrpc.CodeInvalidRequest},
		"cut off": {`{"id":"a\"b","params":{"x":"` + strings.Repeat("x", maxMessage) + `"}}`, `a"b`,
			jsonrpc.CodeInvalidRequest},
		"cut, id last": {`{"params":{"x":"` + strings.Repeat("x", maxMessage+1000) + `"},"jsonrpc":"2.0","id":12}`, 12.0,
			jsonrpc.CodeInvalidRequest},
		"id within": {`{"params":{"x":"` + strings.Repeat("x", maxMessage) + `","id":12}}`, nil, jsonrpc.CodeInvalidRequest},
		"two": {`{"jsonrpc":"2.0","id":5,"method":"ping"}{"jsonrpc":"2.0","id":6,"method":"ping"}`, 5.0,
			jsonrpc.CodeParseError},
		"batch":        {`[{"jsonrpc":"2.0","id":5,"method":"ping"}]`, nil, jsonrpc.CodeInvalidRequest},
		"empty batch":  {`[]`, nil, jsonrpc.CodeInvalidRequest},
		"binary":       {"\x00\xff\xfe", nil, jsonrpc.CodeParseError},
		"deep nesting": {strings.Repeat("[", 100000), nil, jsonrpc.CodeParseError},
	} {
		t.Run(name, func(t *testing.T) {
			answers, writer := io.Pipe()
			c, err := Streams{Reader: strings.NewReader(test.line + "\n\n  \n" + ping), Writer: writer}.newStreamConn(new(largeArgumentStore)).Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			lines := make(chan string, 1)
			go func() {
				line, _ := bufio.NewReader(answers).ReadString('\n')
				lines <- line
			}()
			next, err := c.Read(t.Context())
			if r, ok := next.(*jsonrpc.Request); err != nil || !ok || r.Method != "ping" {
				t.Fatalf("passed on was %.100v, %v", next, err)
			}
			answer := <-lines
			var got struct {
				ID    any
				Error struct{ Code float64 }
			}
			if err := json.Unmarshal([]byte(answer), &got); err != nil || got.ID != test.id || got.Error.Code != test.code {
				t.Errorf("the answer is %s (%v); want code %v for id %v", answer, err, test.code, test.id)
			}
			if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

func TestCloseEndsPendingRead(t *testing.T) {
	reader, _ := io.Pipe()
	c, err := Streams{Reader: reader, Writer: io.Discard}.newStreamConn(new(largeArgumentStore)).Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { _, err := c.Read(context.Background()); ended <- err }()
	for range 2 {
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-ended; err == nil {
		t.Error("a closed connection has read something")
	}
}

// The input may end before answers are given: a script has said all that it wants to ask. They are waited for as long
// as somebody reads them.
func TestEndWaitsForPendingResponses(t *testing.T) {
	for name, gone := range map[string]bool{"somebody reads": false, "nobody reads": true} {
		t.Run(name, func(t *testing.T) {
			asked := make(chan struct{}, 1)
			c, err := Streams{
				Reader: strings.NewReader(`{"jsonrpc":"2.0","id":7,"method":"ping"}` + "\n"), Writer: io.Discard,
				DrainTimeout: time.Hour,
				ReaderGone: func() bool {
					select {
					case asked <- struct{}{}:
					default:
					}
					return gone
				},
			}.newStreamConn(new(largeArgumentStore)).Connect(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = c.Close() }()
			request, err := c.Read(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { _, err := c.Read(context.Background()); ended <- err }()
			<-asked // it waits
			if !gone {
				select {
				case err := <-ended:
					t.Fatalf("it has ended before the answer: %v", err)
				default:
				}
				id := request.(*jsonrpc.Request).ID
				if err := c.Write(t.Context(), &jsonrpc.Response{ID: id, Result: json.RawMessage(`{}`)}); err != nil {
					t.Fatal(err)
				}
			}
			if err := <-ended; !errors.Is(err, io.EOF) {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

func FuzzLines(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","id":1,"method":"ping"}`))
	f.Add([]byte("x\n{}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		c, err := Streams{Reader: strings.NewReader(string(data)), Writer: io.Discard}.newStreamConn(new(largeArgumentStore)).Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := c.Read(t.Context()); err != nil {
				if !errors.Is(err, io.EOF) {
					t.Fatalf("reading ended with %v", err)
				}
				return
			}
		}
	})
}

// A client that reads nothing and keeps the stream open must not keep the server.
func TestUnreadResponsesDoNotBlockEnd(t *testing.T) {
	for name, end := range map[string]func(input io.Closer, cancel func()){
		"its input ends":     func(input io.Closer, _ func()) { _ = input.Close() },
		"the server is told": func(_ io.Closer, cancel func()) { cancel() },
	} {
		ctx, cancel := context.WithCancel(t.Context())
		in, input := io.Pipe()
		unread, output := io.Pipe()
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = NewServer(telling{}, "test", "").ServeStreams(ctx, Streams{Reader: in, Writer: output, DrainTimeout: time.Millisecond})
		}()
		if _, err := io.WriteString(input, hello+"\n"); err != nil {
			t.Fatal(err)
		}
		end(input, cancel)
		select {
		case <-ended:
		case <-time.After(20 * time.Second):
			t.Errorf("%s: the server goes on", name)
		}
		cancel()
		_ = unread.Close()
		_ = input.Close()
	}
}

func TestInvalidRequestIsAnswered(t *testing.T) {
	c := talkTo(t, "2025-06-18")
	c.send(toolCall("7", "wait"))
	for message, want := range map[string]string{
		`{"jsonrpc":"1.0","id":1001,"method":"ping"}`:                `"id":1001`,
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                  `"id":null`,
		`{"jsonrpc":"2.0","id":7,"method":"ping"}`:                   "already in use",
		`{"jsonrpc":"2.0","id":8,"method":"no/such"}`:                "no/such",
		`{"jsonrpc":"2.0","id":9,"method":"tools/call","params":[]}`: `"id":9,"error"`,
	} {
		c.send(message)
		if got := c.line(); !strings.Contains(got, want) || !strings.Contains(got, `"error"`) {
			t.Errorf("%s is answered with %s; want %s", message, got, want)
		}
	}
}

// A call that waits holds up no other, and ends when it is cancelled.
func TestCallEventsAndCancellation(t *testing.T) {
	c := talkTo(t, "2025-06-18")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_tell","arguments":{},"_meta":{"progressToken":"p"}}}`)
	var told struct {
		Method string
		Params struct{ ProgressToken, Message string }
	}
	if err := json.Unmarshal([]byte(c.line()), &told); err != nil || told.Params.ProgressToken != "p" ||
		told.Params.Message != "half" {
		t.Errorf("what came first is %+v, %v", told, err)
	}
	c.line()
	c.send(toolCall(`"w"`, "wait"))
	c.send(toolCall("2", ""))
	if got := c.line(); !strings.Contains(got, `"id":2`) {
		t.Errorf("a call that waits holds up another: %s", got)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`)
	if got := c.line(); !strings.Contains(got, `"id":"w"`) || !strings.Contains(got, "it was cancelled") {
		t.Errorf("the cancelled call is answered with %s", got)
	}
}

// What a command prints is told in whole characters, wherever its plugin has cut it.
func TestOutputKeepsCharactersWhole(t *testing.T) {
	c := talkTo(t, "2025-06-18")
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_tell","arguments":{"kind":"pieces"},"_meta":{"progressToken":"p"}}}`)
	for _, want := range []string{"a", "éb\uFFFD", "\uFFFD"} {
		var told struct{ Params struct{ Message string } }
		if err := json.Unmarshal([]byte(c.line()), &told); err != nil || told.Params.Message != want {
			t.Errorf("%q is told; want %q (%v)", told.Params.Message, want, err)
		}
	}
	c.line()
}

func TestOutputIsReadWithProgressToken(t *testing.T) {
	t.Parallel()
	for meta, want := range map[string]string{`{"progressToken":"p"}`: "true", `{}`: "false"} {
		c := talkTo(t, "2025-06-18")
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_tell","arguments":{"kind":"reads_output"},"_meta":` +
			meta + `}}`)
		line := c.line()
		for strings.Contains(line, "notifications/progress") {
			line = c.line()
		}
		if !strings.Contains(line, `"text":"`+want+`"`) {
			t.Errorf("with _meta %s: %s", meta, line)
		}
	}
	c := newStatelessClient(t, telling{}, HTTPOptions{})
	for token, want := range map[string]string{`"progressToken":"p",`: "true", "": "false"} { // of a call that may ask questions
		with := strings.NewReplacer(`"_meta":{`, `"_meta":{`+token, "{}", `{"elicitation":{}}`)
		_, _, answer := c.post(with.Replace(statelessCall("reads_output")), nil)
		if !strings.Contains(answer, `"text":"`+want+`"`) {
			t.Errorf("with the token %s: %s", token, answer)
		}
	}
}
