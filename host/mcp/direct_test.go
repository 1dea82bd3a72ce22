package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/picoclaw/picoclaw/host"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// telling is a session with one tool, whose results are those that there are.
type telling struct{ nothing }

func (telling) Tools() []host.Tool {
	return []host.Tool{{Name: "test.tell", Spec: &pluginpb.Spec{Name: "tell", Doc: "Tells."}}}
}

func (telling) Call(ctx context.Context, _ string, arguments json.RawMessage, events func(host.Event)) *host.Result {
	var args struct{ Kind string }
	if err := json.Unmarshal(arguments, &args); err != nil {
		return &host.Result{Err: &host.Error{Code: "invalid_argument", Message: err.Error()}}
	}
	if events != nil && args.Kind == "pieces" {
		for _, piece := range []string{"a\xc3", "\xa9b\xff", "\xe2\x82"} {
			events(host.Event{Output: []byte(piece)})
		}
	} else if events != nil {
		events(host.Event{Done: 1, Total: 2, Message: "half"})
	}
	switch args.Kind {
	case "structured":
		return &host.Result{Structured: json.RawMessage(`{"a":[1,"<&>"],"b":null}`)}
	case "both":
		return &host.Result{Text: "line one\nline <two> & \u2028 \"three\"", Structured: json.RawMessage(`{"n":1}`)}
	case "image":
		return &host.Result{Text: "an image", Media: []byte{0, 1, 2, 255}, MediaType: "image/png"}
	case "error":
		return &host.Result{Text: "until then", Err: &host.Error{Code: "failed", Message: "no", Rule: "r", Hint: "h"}}
	case "wait":
		<-ctx.Done()
		return &host.Result{Err: &host.Error{Code: "cancelled", Message: "it was cancelled"}}
	}
	return &host.Result{Text: string(arguments)}
}

// talk is one client's streams.
type talk struct {
	t       *testing.T
	input   io.Writer
	lines   *bufio.Reader
	version string // that the client was told
}

// talkTo serves tools to a client of a version of the protocol, with calls made directly or by the library.
func talkTo(t *testing.T, version string, direct bool) *talk {
	t.Helper()
	return talkWith(t, version, `{}`, direct)
}

// talkWith is the same for a client with capabilities.
func talkWith(t *testing.T, version, capabilities string, direct bool) *talk {
	t.Helper()
	in, input := io.Pipe()
	answers, output := io.Pipe()
	server := NewServer(telling{}, "test", "")
	streams := Lines{Reader: in, Writer: output}
	if direct {
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			_ = server.Run(t.Context(), streams) // the streams are closed under it
		}()
		t.Cleanup(func() { <-ended })
	} else if _, err := server.Connect(t.Context(), streams, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = answers.Close()
		_ = input.Close()
	})
	c := &talk{t: t, input: input, lines: bufio.NewReader(answers)}
	c.send(helloIn(version, capabilities))
	var begun struct {
		Result struct{ ProtocolVersion string }
	}
	if err := json.Unmarshal([]byte(c.line()), &begun); err != nil {
		t.Fatal(err)
	}
	c.version = begun.Result.ProtocolVersion
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	c.send(`{"jsonrpc":"2.0","id":0,"method":"ping"}`)
	c.line() // by now the session is there for all
	return c
}

// helloIn is how a client begins.
func helloIn(version, capabilities string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":` + capabilities + `,"clientInfo":{"name":"test","version":"1"}}}`
}

func (c *talk) send(message string) {
	c.t.Helper()
	if _, err := io.WriteString(c.input, message+"\n"); err != nil {
		c.t.Fatal(err)
	}
}

func (c *talk) line() string {
	c.t.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.t.Fatal(err)
	}
	return line
}

// Whoever makes a call can't tell who answers it: every byte is the same, in every version of the protocol.
func TestDirectAnswersAreTheLibrarys(t *testing.T) {
	calls := []string{
		`{"name":"test_tell","arguments":{}}`,
		`{"name":"test_tell"}`,
		`{"name":"test_tell","arguments":null}`,
		`{"name":"test_tell","arguments":[1]}`,
		`{"arguments":{"a":"\u00e9\ud83d\ude00","b":[1.50,1e3]},"name":"test_tell"}`,
		`{"name":"test_tell","arguments":{"kind":"structured"}}`,
		`{"name":"test_tell","arguments":{"kind":"both"}}`,
		`{"name":"test_tell","arguments":{"kind":"image"}}`,
		`{"name":"test_tell","arguments":{"kind":"error"}}`,
		`{"name":"test_tell","arguments":{},"_meta":{"com.example/id":"1"}}`,
		`{"name":"test_tell","arguments":{},"_meta":null}`,
		`{"name":"test_tell","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}`,
		`{"name":"test_tell","arguments":{},"unknown":1}`,
		`{"name":"test_tell","name":"other","arguments":{}}`,
		`{"name":"other","arguments":{}}`,
		`{"NAME":"test_tell","arguments":{}}`,
		`{"name":7,"arguments":{}}`,
		`{}`,
		`[]`,
		`null`,
	}
	for _, version := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1.0"} {
		by, direct := talkTo(t, version, false), talkTo(t, version, true)
		for n, call := range calls {
			for _, id := range []string{fmt.Sprint(n + 1), fmt.Sprintf(`"a\u00e9<%d>"`, n)} {
				message := `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":` + call + `}`
				by.send(message)
				direct.send(message)
				if want, got := by.line(), direct.line(); got != want {
					t.Errorf("%s, %s is answered\n%s and by the library\n%s", version, call, got, want)
				}
			}
		}
	}
}

func TestDirectCallsTellAndAreCancelled(t *testing.T) {
	for _, direct := range []bool{false, true} {
		c := talkTo(t, "2025-06-18", direct)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_tell","arguments":{},"_meta":{"progressToken":"p"}}}`)
		var told struct {
			Method string
			Params struct{ ProgressToken, Message string }
		}
		if err := json.Unmarshal([]byte(c.line()), &told); err != nil || told.Params.ProgressToken != "p" || told.Params.Message != "half" {
			t.Errorf("direct %t: what came first is %+v, %v", direct, told, err)
		}
		c.line()

		c.send(`{"jsonrpc":"2.0","id":"w","method":"tools/call","params":{"name":"test_tell","arguments":{"kind":"wait"}}}`)
		c.send(`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"test_tell","arguments":{}}}`)
		if got := c.line(); !strings.Contains(got, `"id":2`) {
			t.Errorf("direct %t: a call that waits holds up another: %s", direct, got)
		}
		c.send(`{"jsonrpc":"2.0","id":3,"method":"notifications/cancelled","params":{"requestId":"w"}}`)
		if got := c.line(); !strings.Contains(got, `"id":3`) || !strings.Contains(got, "has no id") {
			t.Errorf("direct %t: a notification with an id is answered with %s", direct, got)
		}
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"w"}}`)
		if got := c.line(); !strings.Contains(got, `"id":"w"`) || !strings.Contains(got, "it was cancelled") {
			t.Errorf("direct %t: the cancelled call is answered with %s", direct, got)
		}
	}
}

// What a command prints is told in whole characters, wherever its plugin has cut it.
func TestOutputIsToldInWholeCharacters(t *testing.T) {
	for _, direct := range []bool{false, true} {
		c := talkTo(t, "2025-06-18", direct)
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"test_tell","arguments":{"kind":"pieces"},"_meta":{"progressToken":"p"}}}`)
		for _, want := range []string{"a", "éb\uFFFD", "\uFFFD"} {
			var told struct{ Params struct{ Message string } }
			if err := json.Unmarshal([]byte(c.line()), &told); err != nil || told.Params.Message != want {
				t.Errorf("direct %t: %q is told; want %q (%v)", direct, told.Params.Message, want, err)
			}
		}
		c.line()
	}
}

// What a client has said comes before what it says next: its call is made when it has been asked for its new roots.
func TestACallAfterNewRootsIsMadeInThem(t *testing.T) {
	c := talkWith(t, "2025-06-18", `{"roots":{"listChanged":true}}`, true)
	ask := func(n int) {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"call-%d","method":"tools/call","params":{"name":"test_tell","arguments":{}}}`, n))
	}
	for n := range 100 {
		c.send(`{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}`)
		ask(n)
		line := c.line()
		if !strings.Contains(line, `"roots/list"`) {
			t.Fatalf("call %d is answered before its roots are asked for: %s", n, line)
		}
		var asked struct{ ID json.RawMessage }
		if err := json.Unmarshal([]byte(line), &asked); err != nil {
			t.Fatal(err)
		}
		c.send(`{"jsonrpc":"2.0","id":` + string(asked.ID) + `,"result":{"roots":[]}}`)
		c.line()
	}
}
