package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/picoclaw/picoclaw/host/session"
	"github.com/picoclaw/picoclaw/sdk/pluginpb"
)

// telling is a session with one tool, whose results are those that there are.
type telling struct{ nothing }

func (telling) Tools() []session.Tool {
	return []session.Tool{{Name: "test.tell", Plugin: "test", Spec: &pluginpb.ToolSpec{Name: "tell", Doc: "Tells."}}}
}

func (telling) Call(ctx context.Context, _ string, arguments json.RawMessage, events func(session.CallEvent)) *session.Result {
	var args struct{ Kind string }
	if err := json.Unmarshal(arguments, &args); err != nil {
		return &session.Result{Err: &session.Error{Code: "invalid_argument", Message: err.Error()}}
	}
	if events != nil && args.Kind == "pieces" {
		for _, piece := range []string{"a\xc3", "\xa9b\xff", "\xe2\x82"} {
			events(session.CallEvent{Output: []byte(piece)})
		}
	} else if events != nil {
		events(session.CallEvent{Done: 1, Total: 2, Message: "half"})
	}
	switch args.Kind {
	case "reads_output":
		return &session.Result{Text: fmt.Sprint(session.ReadsOutputEvents(ctx))}
	case "log":
		events(session.CallEvent{Log: &session.LogMessage{Message: "plain"}})
		events(session.CallEvent{Log: &session.LogMessage{Level: slog.LevelWarn, Message: "with more",
			Attributes: json.RawMessage(`{"n":1}`)}})
	case "ask":
		show := session.ElicitorOf(ctx)
		if show == nil {
			return &session.Result{Text: "nobody"}
		}
		said, err := show(ctx, []session.ElicitationForm{{Tool: "test.tell", Message: "How many?",
			Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","default":3}}}`)}})
		if err != nil {
			return &session.Result{Text: err.Error()}
		}
		return &session.Result{Text: said[0].Action + string(said[0].Values)}
	case "blocks":
		return &session.Result{Text: "a\nb", Content: []session.Content{
			{Text: "a"}, {URI: "test://r", MediaType: "text/plain", Text: "b"}, {Data: []byte{1}, MediaType: "audio/wav"},
			{URI: "test://s", Data: []byte{2}},
		}}
	case "structured":
		return &session.Result{Structured: json.RawMessage(`{"a":[1,"<&>"],"b":null}`)}
	case "both":
		return &session.Result{Text: "line one\nline <two> & \u2028 \"three\"", Structured: json.RawMessage(`{"n":1}`)}
	case "image":
		return &session.Result{Text: "an image", Content: []session.Content{{Text: "an image"}, {Data: []byte{0, 1, 2, 255},
			MediaType: "image/png"}}}
	case "error":
		return &session.Result{Text: "until then", Err: &session.Error{Code: "failed", Message: "no", Rule: "r", Hint: "h"}}
	case "wait":
		<-ctx.Done()
		return &session.Result{Err: &session.Error{Code: "cancelled", Message: "it was cancelled"}}
	}
	return &session.Result{Text: string(arguments)}
}

// talk is one client's streams.
type talk struct {
	t       testing.TB
	input   io.Writer
	lines   *bufio.Reader
	version string // that the client was told
	told    bool   // of a changed list of tools, and nobody has asked yet
}

// talkTo serves tools to a client of a version of the protocol.
func talkTo(t testing.TB, version string) *talk {
	t.Helper()
	return talkWith(t, version, `{}`)
}

// talkWith is the same for a client with capabilities.
func talkWith(t testing.TB, version, capabilities string) *talk {
	t.Helper()
	return connectTo(t).begin(version, capabilities)
}

// begin says what a client begins with.
func (c *talk) begin(version, capabilities string) *talk {
	c.t.Helper()
	c.send(helloIn(version, capabilities))
	var begun struct {
		Result struct{ ProtocolVersion string }
	}
	if err := json.Unmarshal([]byte(c.line()), &begun); err != nil {
		c.t.Fatal(err)
	}
	c.version = begun.Result.ProtocolVersion
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return c
}

// connectTo is the same for a client that has said nothing yet.
func connectTo(t testing.TB) *talk {
	t.Helper()
	return connectWith(t, NewServer(telling{}, "test", ""))
}

// connectWith is the same with a server of the test's.
func connectWith(t testing.TB, server *Server) *talk {
	t.Helper()
	in, input := io.Pipe()
	answers, output := io.Pipe()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = server.ServeStreams(t.Context(), Streams{Reader: in, Writer: output}) // the streams are closed under it
	}()
	t.Cleanup(func() {
		_ = answers.Close()
		_ = input.Close()
		<-ended
	})
	return &talk{t: t, input: input, lines: bufio.NewReader(answers)}
}

// helloIn is how a client begins.
func helloIn(version, capabilities string) string {
	return `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + version +
		`","capabilities":` + capabilities + `,"clientInfo":{"name":"test","version":"1"}}}`
}

// toolCall is a call of the one tool.
func toolCall(id, kind string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"test_tell","arguments":{"kind":"` +
		kind + `"}}}`
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
